// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/controller"
	"github.com/strata-run/strata/internal/version"
)

// ManagerFunc runs the manager against a cluster until the context ends.
type ManagerFunc func(ctx context.Context, cfg *rest.Config, o controller.Options) error

// Config is what the process gives the command line.
type Config struct {
	// Args are the program's name and its arguments, as in os.Args.
	Args []string

	// In is where answers to questions are read from.
	In io.Reader

	// Out gets data, Err gets progress and notes.
	Out, Err io.Writer

	// Getenv reads the environment.
	Getenv func(string) string

	// RunManager is the manager that `up` runs beside the local cluster.
	RunManager ManagerFunc
}

type app struct {
	Config

	flags *genericclioptions.ConfigFlags
	color output.ColorMode
	now   func() time.Time
	// connect is connectTo, replaced by tests.
	connect func() (*cluster, error)
	// isTerminal is true when a person sits at a stream; replaced by tests.
	isTerminal func(stream any) bool
	// running is set once a command's own code runs: an error before that is one
	// of usage.
	running bool
}

func newApp(c Config) *app {
	flags := genericclioptions.NewConfigFlags(true)
	// Packages and their revisions are cluster-scoped, and no command needs
	// discovery, so there is nothing to cache.
	flags.Namespace, flags.CacheDir = nil, nil
	a := &app{Config: c, flags: flags, color: output.ColorAuto, now: time.Now, isTerminal: output.IsTerminal}
	a.connect = a.connectTo
	return a
}

// Run runs the command line and returns what the process exits with.
func Run(ctx context.Context, c Config) Code {
	return newApp(c).execute(ctx)
}

func (a *app) execute(ctx context.Context) Code {
	root := a.root()
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return CodeOK
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return CodeInterrupted
	}
	if !a.running {
		err = exitf(CodeUsage, "%w\nSee `%s --help`.", err, cmd.CommandPath())
	}
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Err != nil {
		a.note("Error: %s", err)
	}
	return codeOf(err)
}

// silenceLibraries drops what libraries log. Loggers are the process', which may run
// several commands, and requests of an earlier one may still be on their way.
var silenceLibraries = sync.OnceFunc(func() {
	ctrllog.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
})

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "strata",
		Short: "Look at packages, their revisions and rollouts, and roll back",
		Long: `Strata rolls out what runs in a cluster in numbered, immutable revisions, phase
by phase, and keeps their history. This command shows what runs, what is being
rolled out and what blocks it, and goes back to an earlier revision.

Exit codes: 0 yes; 1 no or not yet, or an error; 2 usage; 3 cannot succeed by
waiting; 4 timeout; 5 superseded; 6 not found; 7 no cluster answers;
130 interrupted.`,
		Version:       "Client: " + version.Get().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			// Libraries have nothing to tell; up alone keeps a log.
			if cmd.Name() != "up" {
				silenceLibraries()
			}
		},
	}
	if len(a.Args) > 0 && strings.HasPrefix(filepath.Base(a.Args[0]), "kubectl-") {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl strata"}
	}
	if len(a.Args) > 0 {
		root.SetArgs(a.Args[1:])
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetUsageTemplate(usageTemplate)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(suggestFlag)
	a.flags.AddFlags(root.PersistentFlags())
	root.PersistentFlags().Var(&a.color, "color", "when to use colour: auto (on a terminal, unless NO_COLOR is set), always or never")
	root.AddGroup(
		&cobra.Group{ID: "look", Title: "See what runs:"},
		&cobra.Group{ID: "prepare", Title: "See what would run:"},
		&cobra.Group{ID: "change", Title: "Change what runs:"},
		&cobra.Group{ID: "local", Title: "A cluster on this machine:"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			c.DisableFlagsInUseLine, c.SuggestFor = true, suggestions[c.Name()]
			root.AddCommand(c)
		}
	}
	add("look", a.getCommand(), a.historyCommand(), a.treeCommand(), a.statusCommand(), a.waitCommand(), a.assertCommand(), a.statsCommand(), a.reportCommand())
	add("change", a.adoptCommand())
	add("prepare", a.extensionCommands()...)
	add("look", a.explainCommand(), a.eventsCommand(), a.traceCommand(), a.showCommand(), a.diffCommand(), a.restartsCommand())
	add("change", a.rollbackCommand())
	add("change", a.approveCommand(), a.pauseCommand(), a.resumeCommand(), a.archiveCommand(), a.deleteCommand(), a.handOverCommand(), a.uninstallCommand())
	add("change", a.importHelmCommand())
	add("prepare", a.planCommand(), a.renderCommand(), a.lintCommand())
	add("change", a.applyCommand())
	add("local", a.upCommand(), a.downCommand())
	add("", a.versionCommand(), a.optionsCommand(), a.completionCommand())
	complete(root, "context", a.completeContexts)
	return root
}

// run makes a command's function from one that takes what most need.
func (a *app) run(f func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.running = true
		return f(cmd.Context(), args)
	}
}

func (a *app) stdout(o outputFormat) *output.Printer {
	width, _ := output.Size(a.Out)
	if o == outputWide {
		width = 0
	}
	return a.printer(a.Out, a.Out, width)
}

// printer writes what is shown on a stream. For a terminal that has no UTF-8 it writes ASCII;
// what another program reads is the same in every locale.
func (a *app) printer(out, stream io.Writer, width int) *output.Printer {
	p := output.New(out, width, a.color.Enabled(stream, a.Getenv))
	switch {
	case !a.isTerminal(stream):
		p.WholeTables()
	case output.IsASCII(a.Getenv):
		p.ASCII()
	}
	return p
}

// note writes a line to stderr.
func (a *app) note(format string, args ...any) {
	fmt.Fprintln(a.Err, output.CleanLines(fmt.Sprintf(format, args...)))
}

func (a *app) optionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "options",
		Short: "List the flags that every command takes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.running = true
			fmt.Fprintf(a.Out, "These flags can be given to every command:\n\n%s", cmd.InheritedFlags().FlagUsagesWrapped(output.DefaultWidth))
			return nil
		},
	}
}

// usageTemplate is cobra's, without the flags that every command takes: they
// would hide the few that matter.
const usageTemplate = `Usage:{{if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} COMMAND{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}{{$commands := .Commands}}{{range $group := .Groups}}

{{.Title}}{{range $commands}}{{if (and (eq .GroupID $group.ID) .IsAvailableCommand)}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if not .AllChildCommandsHaveGroup}}

Others:{{range $commands}}{{if (and (eq .GroupID "") .IsAvailableCommand)}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{end}}{{if .LocalNonPersistentFlags.HasAvailableFlags}}

Flags:
{{.LocalNonPersistentFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces}}{{end}}

{{if .HasAvailableSubCommands}}Use "{{.CommandPath}} COMMAND --help" for more about a command, and
{{end}}"{{.Root.DisplayName}} options" for the flags that every command takes.
`

var suggestions = map[string][]string{
	"apply":   {"install", "upgrade", "create", "deploy"},
	"delete":  {"remove", "rm", "destroy"},
	"explain": {"describe", "why"},
	"status":  {"describe", "rollout", "inspect"},
	"render":  {"template"},
	"pause":   {"suspend"},
	"history": {"revisions"},
}

// suggestFlag adds the flags that an unknown one may stand for.
func suggestFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return err
	}
	// cobra compares names of commands alone.
	flags := &cobra.Command{SuggestionsMinimumDistance: 2}
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		flags.AddCommand(&cobra.Command{Use: flag.Name, Run: func(*cobra.Command, []string) {}})
	})
	if names := flags.SuggestionsFor(unknown.GetSpecifiedName()); len(names) > 0 {
		return fmt.Errorf("%w; did you mean --%s?", err, strings.Join(names, " or --"))
	}
	return err
}
