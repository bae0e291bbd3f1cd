// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	kjson "sigs.k8s.io/json"
)

// The fields of spec.config.inline that bundles of registry+v1 take.
const (
	fieldWatchNamespace   = "watchNamespace"
	fieldDeploymentConfig = "deploymentConfig"
)

// ConfigError is what is wrong in spec.config.
type ConfigError struct {
	// Problems are sorted.
	Problems []string
}

// Error begins as scripts expect it, and lists all problems.
func (e *ConfigError) Error() string {
	message := "invalid ClusterExtension configuration: invalid configuration: "
	if len(e.Problems) > 1 {
		message += "multiple errors found: "
	}
	return message + strings.Join(e.Problems, "; ")
}

func misconfigured(problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	slices.Sort(problems)
	return &ConfigError{Problems: slices.Compact(problems)}
}

// config is what a user has set.
type config struct {
	watched    watched
	deployment *deploymentConfig
}

// readConfig reads and checks spec.config.inline for a bundle that supports these modes.
func readConfig(m modes, target Target) (config, error) {
	fields := map[string]json.RawMessage{}
	if len(target.Config) > 0 {
		if err := kjson.UnmarshalCaseSensitivePreserveInts(target.Config, &fields); err != nil {
			return config{}, misconfigured([]string{"it is no object"})
		}
	}
	var read config
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != fieldDeploymentConfig && (name != fieldWatchNamespace || (!m.single && !m.own)) {
			problems = append(problems, fmt.Sprintf("unknown field %q", name))
		}
	}
	if m.single || m.own {
		var found []string
		read.watched, found = watchNamespace(m, fields[fieldWatchNamespace], target.Namespace)
		problems = append(problems, found...)
	}
	var found []string
	read.deployment, found = readDeploymentConfig(fields[fieldDeploymentConfig])
	return read, misconfigured(append(problems, found...))
}

// watchNamespace reads the field of that name.
func watchNamespace(m modes, value json.RawMessage, install string) (watched, []string) {
	var namespace *string
	if len(value) > 0 {
		if err := json.Unmarshal(value, &namespace); err != nil {
			return nil, []string{fmt.Sprintf("invalid type for field %q: it has to be text", fieldWatchNamespace)}
		}
	}
	switch {
	case namespace == nil && m.all:
		return nil, nil
	case namespace == nil:
		return nil, []string{fmt.Sprintf("required field %q is missing: the bundle does not support the install mode %s", fieldWatchNamespace, allNamespaces)}
	case len(validation.IsDNS1123Label(*namespace)) > 0:
		return nil, []string{fmt.Sprintf("field %q must match pattern %s and have at most 63 characters, as a namespace does", fieldWatchNamespace, `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)}
	case !m.single && *namespace != install:
		return nil, []string{fmt.Sprintf("invalid value %q: must be %q, the namespace of the extension, as the bundle supports the install mode %s and not %s", *namespace, install, ownNamespace, singleNamespace)}
	case !m.own && *namespace == install:
		return nil, []string{fmt.Sprintf("invalid value %q: must be different from %q, the namespace of the extension, as the bundle supports the install mode %s and not %s", *namespace, install, singleNamespace, ownNamespace)}
	default:
		return watched{*namespace}, nil
	}
}

// wrongType is what a JSON decoder says of a field of another type: what stands there, and where.
var wrongType = regexp.MustCompile(`cannot unmarshal (\w+).* into Go (?:struct field \w*\.([^ ]+)|value) of type`)

// typeProblem says which field below a place has the wrong type, without its value.
func typeProblem(place string, err error) string {
	match := wrongType.FindStringSubmatch(err.Error())
	if match == nil {
		return fmt.Sprintf("field %q has a value that cannot be read", place)
	}
	return fmt.Sprintf("invalid type for field %q: %s was not expected there", strings.Trim(place+"."+match[2], "."), match[1])
}
