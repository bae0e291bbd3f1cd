// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisionstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// This file holds the commands by which others than the engine act.

// create creates an object: "create ConfigMap app/x color=red as helm".
func (p *player) create(words, _ []string) (string, error) {
	n, who, err := p.subject(words)
	if err != nil {
		return "", err
	}
	object := n.object()
	if controller, set := n.flags["controller"]; set {
		parts := append(strings.Split(controller, "/"), "", "")
		yes := true
		object.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: parts[0], Name: parts[1], UID: types.UID(parts[2]), Controller: &yes}})
	}
	return printError(who.Create(context.Background(), object)), nil
}

// edit changes an object: "edit ConfigMap app/x color=red size- as kubectl".
func (p *player) edit(words, _ []string) (string, error) {
	n, who, err := p.subject(words)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(n.patch())
	if err != nil {
		return "", fmt.Errorf("encoding the patch: %w", err)
	}
	return printError(who.Patch(context.Background(), n.identity(), client.RawPatch(types.MergePatchType, data))), nil
}

// apply applies an object with force, as another applier does.
func (p *player) apply(words, _ []string) (string, error) {
	n, who, err := p.subject(words)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(n.object().Object)
	if err != nil {
		return "", fmt.Errorf("encoding the object: %w", err)
	}
	return printError(who.Patch(context.Background(), n.identity(), client.RawPatch(types.ApplyPatchType, data), client.ForceOwnership)), nil
}

// set sets what a probe looks at: "set Deployment app/web ready", "updating" for
// one that is not ready and serves, or "broken".
func (p *player) set(words, _ []string) (string, error) {
	if len(words) != 3 {
		return "", errors.New("write Kind namespace/name and a state")
	}
	n, err := parseNotation(words[0] + " " + words[1])
	if err != nil {
		return "", err
	}
	switch state := words[2]; state {
	case "ready", "updating", "broken":
		return "", p.target.SetStatus(n.kind, n.id(), state == "ready", state != "broken")
	default:
		return "", fmt.Errorf("the state %s is none of ready, updating and broken", state)
	}
}

func (p *player) delete(words, _ []string) (string, error) {
	n, who, err := p.subject(words)
	if err != nil {
		return "", err
	}
	return printError(who.Delete(context.Background(), n.identity())), nil
}

// stale holds the events back from the engine's cache: "stale on", "stale off".
func (p *player) stale(words, _ []string) (string, error) {
	p.cache.SetStale(len(words) == 1 && words[0] == "on")
	return "", nil
}

// fail makes requests of the engine fail: "fail apply ConfigMap app/x 403", with
// "once" for the next one alone, and "after" for an answer that is lost.
func (p *player) fail(words, _ []string) (string, error) {
	if len(words) < 4 {
		return "", errors.New("write a verb, Kind namespace/name and a code")
	}
	n, err := parseNotation(words[1] + " " + words[2])
	if err != nil {
		return "", err
	}
	code, err := strconv.ParseInt(words[3], 10, 32)
	if err != nil {
		return "", fmt.Errorf("reading the code: %w", err)
	}
	fault := Fault{Client: engineClient, Verb: words[0], Object: n.id(), Code: int32(code)}
	for _, word := range words[4:] {
		switch word {
		case "once":
			fault.Times = 1
		case "after":
			fault.After = true
		default:
			fault.Message = strings.TrimSpace(fault.Message + " " + word)
		}
	}
	p.target.Journal.Fail(fault)
	return "", nil
}

func (p *player) heal([]string, []string) (string, error) {
	p.target.Journal.Heal()
	return "", nil
}

// serve says how far a kind is served: "serve Widget.v1.example.org no", "yes" or
// "unreachable".
func (p *player) serve(words, _ []string) (string, error) {
	states := map[string]Serving{"yes": Served, "no": Unknown, "unreachable": Unreachable}
	if len(words) != 2 {
		return "", errors.New("write a kind and yes, no or unreachable")
	}
	serving, known := states[words[1]]
	if !known {
		return "", fmt.Errorf("%s is none of yes, no and unreachable", words[1])
	}
	return "", p.target.Serve(parseKind(words[0]), serving)
}

// collect lets the garbage collector look at the objects of owners that are gone.
func (p *player) collect([]string, []string) (string, error) {
	for _, uid := range p.gone {
		if err := p.target.Collect(uid); err != nil {
			return "", err
		}
	}
	p.gone = nil
	return "", nil
}

func (p *player) clock(words, _ []string) (string, error) {
	if len(words) != 1 {
		return "", errors.New("write a duration")
	}
	by, err := time.ParseDuration(words[0])
	if err != nil {
		return "", fmt.Errorf("reading the duration: %w", err)
	}
	p.now = p.now.Add(by)
	p.target.Advance(by)
	return "", nil
}

// subject reads an object and who acts on it, "user" unless it says "as NAME".
func (p *player) subject(words []string) (notation, ReadWriter, error) {
	who := "user"
	if len(words) > 2 && words[len(words)-2] == "as" {
		who, words = words[len(words)-1], words[:len(words)-2]
	}
	n, err := parseNotation(strings.Join(words, " "))
	return n, p.target.Client(who), err
}

func numberOf(words []string) (int64, error) {
	if len(words) == 0 {
		return 0, errors.New("write the number of a revision")
	}
	number, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading the number of a revision: %w", err)
	}
	return number, nil
}
