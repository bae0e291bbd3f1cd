// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// module is the path of our own module: the comments of its types are descriptions.
const module = "github.com/strata-run/strata/"

// dialect is the JSON Schema that the schemas are written in.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// schemaPages are a JSON Schema for each document of the command line, and a page that
// lists them. Fields that are added later are no violation.
func schemaPages(root fs.FS, version string, documents map[string]any) (map[string]string, error) {
	pages := map[string]string{}
	list := &strings.Builder{}
	heading(list, "Documents of the command line", "the types in internal/cli")
	fmt.Fprintf(list, `
Commands write these with `+"`-o json` and `-o yaml`"+`, as apiVersion %s. Within a version
that is released, fields are added, and never renamed or removed: a program has to ignore what
it does not know. Of a phase, `+"`items` are its objects, and `objects`"+` is their number. `+"`strata get`"+` and `+"`strata render`"+` write API objects instead.

| kind | what it is | schema |
|---|---|---|
`, version)
	comments := comments{root: root, packages: map[string]map[string]typeComment{}}
	for _, kind := range slices.Sorted(maps.Keys(documents)) {
		s := &schemaWriter{comments: comments, definitions: map[string]any{}}
		document := reflect.TypeOf(documents[kind])
		body, err := s.structSchema(document)
		if err != nil {
			return nil, fmt.Errorf("describing %s: %w", kind, err)
		}
		properties, _ := body["properties"].(map[string]any)
		properties["apiVersion"], properties["kind"] = map[string]any{"const": version}, map[string]any{"const": kind}
		body["$schema"], body["title"] = dialect, kind
		body["required"] = append([]string{"apiVersion", "kind"}, stringsOf(body["required"])...)
		if len(s.definitions) > 0 {
			body["$defs"] = s.definitions
		}
		text, err := json.MarshalIndent(body, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("encoding the schema of %s: %w", kind, err)
		}
		pages["schemas/"+kind+".json"] = string(text) + "\n"
		description, _ := body["description"].(string)
		fmt.Fprintf(list, "| %s | %s | [schemas/%s.json](schemas/%s.json) |\n", kind, cell(description), kind, kind)
	}
	pages["documents.md"] = list.String()
	return pages, nil
}

func stringsOf(list any) []string {
	texts, _ := list.([]string)
	return texts
}

// schemaWriter describes types.
type schemaWriter struct {
	comments comments
	// definitions are the schemas of structs, by name.
	definitions map[string]any
}

var (
	timeTypes     = []reflect.Type{reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](), reflect.TypeFor[time.Time]()}
	durationType  = reflect.TypeFor[metav1.Duration]()
	rawType       = reflect.TypeFor[runtime.RawExtension]()
	marshalerType = reflect.TypeFor[json.Marshaler]()
)

// schema describes a type.
func (s *schemaWriter) schema(t reflect.Type) (map[string]any, error) {
	if t.Kind() == reflect.Pointer {
		return s.schema(t.Elem())
	}
	switch {
	case slices.Contains(timeTypes, t):
		return map[string]any{"type": "string", "format": "date-time"}, nil
	case t == durationType:
		return map[string]any{"type": "string"}, nil
	case t == rawType:
		return map[string]any{"type": "object"}, nil
	case t.Implements(marshalerType) || reflect.PointerTo(t).Implements(marshalerType):
		return map[string]any{}, nil
	}
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}, nil
	case reflect.Bool:
		return map[string]any{"type": "boolean"}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer"}, nil
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}, nil
	case reflect.Interface:
		return map[string]any{}, nil
	case reflect.Slice, reflect.Array:
		return s.listSchema(t)
	case reflect.Map:
		values, err := s.schema(t.Elem())
		return map[string]any{"type": "object", "additionalProperties": values}, err
	case reflect.Struct:
		return s.reference(t)
	default:
		return nil, fmt.Errorf("a document must not hold a %s", t)
	}
}

func (s *schemaWriter) listSchema(t reflect.Type) (map[string]any, error) {
	if t.Elem().Kind() == reflect.Uint8 {
		return map[string]any{"type": "string", "contentEncoding": "base64"}, nil
	}
	items, err := s.schema(t.Elem())
	return map[string]any{"type": "array", "items": items}, err
}

// reference refers to the definition of a struct, and describes it the first time.
func (s *schemaWriter) reference(t reflect.Type) (map[string]any, error) {
	if _, known := s.definitions[t.Name()]; !known {
		s.definitions[t.Name()] = nil
		body, err := s.structSchema(t)
		if err != nil {
			return nil, err
		}
		s.definitions[t.Name()] = body
	}
	return map[string]any{"$ref": "#/$defs/" + t.Name()}, nil
}

// structSchema describes a struct and its fields.
func (s *schemaWriter) structSchema(t reflect.Type) (map[string]any, error) {
	comment, err := s.comments.of(t)
	if err != nil {
		return nil, err
	}
	body := map[string]any{"type": "object"}
	if comment.text != "" {
		body["description"] = comment.text
	}
	properties := map[string]any{}
	required, err := s.fields(t, properties)
	if err != nil {
		return nil, err
	}
	body["properties"] = properties
	if len(required) > 0 {
		body["required"] = required
	}
	return body, nil
}

// fields describes the fields of a struct, and those of structs inside of it that have
// no name of their own. It returns which are always there.
func (s *schemaWriter) fields(t reflect.Type, properties map[string]any) ([]string, error) {
	comment, err := s.comments.of(t)
	if err != nil {
		return nil, err
	}
	var required []string
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported() && !field.Anonymous:
			continue
		case name == "" && field.Anonymous:
			more, err := s.fields(field.Type, properties)
			if err != nil {
				return nil, err
			}
			required = append(required, more...)
			continue
		case name == "":
			return nil, fmt.Errorf("field %s.%s has no name in JSON", t.Name(), field.Name)
		}
		if t == reflect.TypeFor[metav1.TypeMeta]() {
			continue
		}
		described, err := s.schema(field.Type)
		if err != nil {
			return nil, fmt.Errorf("field %s.%s: %w", t.Name(), field.Name, err)
		}
		if text := comment.fields[field.Name]; text != "" {
			described = maps.Clone(described)
			described["description"] = text
		}
		properties[name] = described
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			required = append(required, name)
		}
	}
	slices.Sort(required)
	return required, nil
}

// comments are those of the types of our own packages.
type comments struct {
	root     fs.FS
	packages map[string]map[string]typeComment
}

// typeComment is the comment of a struct, and those of its fields.
type typeComment struct {
	text   string
	fields map[string]string
}

// of is what the comments say of a type; nothing for one of another module.
func (c comments) of(t reflect.Type) (typeComment, error) {
	folder, ours := strings.CutPrefix(t.PkgPath(), module)
	if !ours {
		return typeComment{}, nil
	}
	if c.packages[folder] == nil {
		read, err := c.read(folder)
		if err != nil {
			return typeComment{}, err
		}
		c.packages[folder] = read
	}
	return c.packages[folder][t.Name()], nil
}

// read reads the comments of a package.
func (c comments) read(folder string) (map[string]typeComment, error) {
	names, err := fs.Glob(c.root, path.Join(folder, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", folder, err)
	}
	found := map[string]typeComment{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		data, err := fs.ReadFile(c.root, name)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path.Base(name), data, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("parsing %s: %w", name, err)
		}
		for _, declaration := range file.Decls {
			if group, ok := declaration.(*ast.GenDecl); ok && group.Tok == token.TYPE {
				readTypes(group, found)
			}
		}
	}
	return found, nil
}

func readTypes(group *ast.GenDecl, found map[string]typeComment) {
	for _, spec := range group.Specs {
		declared, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		body, ok := declared.Type.(*ast.StructType)
		if !ok {
			continue
		}
		text := declared.Doc.Text()
		if text == "" {
			text = group.Doc.Text()
		}
		comment := typeComment{text: oneParagraph(text), fields: map[string]string{}}
		// A comment is about the fields that follow without one of their own, too.
		about := ""
		for _, field := range body.Fields.List {
			if text := oneParagraph(field.Doc.Text()); text != "" {
				about = text
			}
			for _, name := range field.Names {
				comment.fields[name.Name] = about
			}
		}
		found[declared.Name.Name] = comment
	}
}

// oneParagraph is the first paragraph of a comment on one line, without markers.
func oneParagraph(text string) string {
	first, _, _ := strings.Cut(text, "\n\n")
	var kept []string
	for line := range strings.Lines(first) {
		if !strings.HasPrefix(line, "+") {
			kept = append(kept, strings.TrimSpace(line))
		}
	}
	return strings.TrimSpace(strings.Join(kept, " "))
}
