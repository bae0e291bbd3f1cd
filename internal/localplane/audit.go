// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"
)

// AuditEvent is one line of the audit log, with what counting requests needs.
type AuditEvent struct {
	// Time is when the request arrived, Answered when the event was made: for a request
	// that was answered, when that was.
	Time, Answered time.Time
	// Stage is ResponseComplete for a request that was answered,
	// ResponseStarted for a watch that began, Panic for a failure.
	Stage string
	// User made the request; Impersonated is whom it acted for, if anybody.
	User         string
	Impersonated string
	UserAgent    string
	// Verb is the one of RBAC: get, list, watch, create, update, patch,
	// delete, deletecollection.
	Verb string
	// Group, Resource, Subresource, Namespace and Name are empty for requests
	// to paths such as /healthz.
	Group       string
	Resource    string
	Subresource string
	Namespace   string
	Name        string
	// Code is the HTTP status of the answer.
	Code       int
	RequestURI string
}

// ReadAudit reads an audit log, oldest answer first. The API server writes an
// event just after the client has the answer, so the newest requests may still
// be missing; a line that is being written is left out.
func ReadAudit(path string) ([]AuditEvent, error) {
	events, _, err := ReadAuditFrom(path, 0)
	return events, err
}

// ReadAuditFrom does so from an offset on, and returns the one to go on from.
func ReadAuditFrom(path string, from int64) (events []AuditEvent, next int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, from, fmt.Errorf("reading the audit log: %w", err)
	}
	defer file.Close()
	reader := bufio.NewReaderSize(io.NewSectionReader(file, from, math.MaxInt64-from), 1<<16)
	for number := 1; ; number++ {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return events, from, nil
		}
		if err != nil {
			return nil, from, fmt.Errorf("reading the audit log: %w", err)
		}
		event, err := parseAudit(line)
		if err != nil {
			return nil, from, fmt.Errorf("reading the audit log %s: line %d: %w", path, number, err)
		}
		events, from = append(events, event), from+int64(len(line))
	}
}

// parseAudit reads one event of audit.k8s.io/v1.
func parseAudit(line []byte) (AuditEvent, error) {
	var e struct {
		Stage      string `json:"stage"`
		RequestURI string `json:"requestURI"`
		Verb       string `json:"verb"`
		User       struct {
			Username string `json:"username"`
		} `json:"user"`
		Impersonated struct {
			Username string `json:"username"`
		} `json:"impersonatedUser"`
		UserAgent string `json:"userAgent"`
		Object    struct {
			Resource    string `json:"resource"`
			Namespace   string `json:"namespace"`
			Name        string `json:"name"`
			Group       string `json:"apiGroup"`
			Subresource string `json:"subresource"`
		} `json:"objectRef"`
		Status struct {
			Code int `json:"code"`
		} `json:"responseStatus"`
		Received time.Time `json:"requestReceivedTimestamp"`
		Answered time.Time `json:"stageTimestamp"`
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return AuditEvent{}, err
	}
	return AuditEvent{
		Time:         e.Received,
		Answered:     e.Answered,
		Stage:        e.Stage,
		User:         e.User.Username,
		Impersonated: e.Impersonated.Username,
		UserAgent:    e.UserAgent,
		Verb:         e.Verb,
		Group:        e.Object.Group,
		Resource:     e.Object.Resource,
		Subresource:  e.Object.Subresource,
		Namespace:    e.Object.Namespace,
		Name:         e.Object.Name,
		Code:         e.Status.Code,
		RequestURI:   e.RequestURI,
	}, nil
}
