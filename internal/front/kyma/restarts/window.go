// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

// Window is when restarts may begin. The zero value is always open.
type Window struct {
	set bool
	// days are those on which it opens.
	days [7]bool
	// from and to are minutes of the day. When to is not after from, it is of the next day.
	from, to int
}

var (
	windowForm = regexp.MustCompile(`^(?:([A-Za-z,-]+) +)?(\d{2}):(\d{2})-(\d{2}):(\d{2})$`)
	weekdays   = []string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}
)

// ParseWindow reads a window such as "22:00-04:00", "Sat,Sun 00:00-23:59" or
// "Mon-Fri 01:00-05:00", in UTC. The days are those on which it opens. Empty is always open.
func ParseWindow(text string) (Window, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return Window{}, nil
	}
	wrong := func(what string) error {
		return fmt.Errorf("annotation %s is %.100q: %s, it must be such as \"Sat,Sun 22:00-04:00\", in UTC", v1alpha2.AnnotationRestartWindow, text, what)
	}
	parts := windowForm.FindStringSubmatch(text)
	if parts == nil {
		return Window{}, wrong("that is not a window")
	}
	w := Window{set: true}
	var clock [4]int
	for i := range clock {
		clock[i], _ = strconv.Atoi(parts[i+2]) // two digits
	}
	if clock[0] > 23 || clock[2] > 23 || clock[1] > 59 || clock[3] > 59 {
		return Window{}, wrong("there is no such time of day")
	}
	w.from, w.to = clock[0]*60+clock[1], clock[2]*60+clock[3]
	if parts[1] == "" {
		w.days = [7]bool{true, true, true, true, true, true, true}
		return w, nil
	}
	for part := range strings.SplitSeq(parts[1], ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, to := slices.Index(weekdays, first), slices.Index(weekdays, last)
		if from < 0 || to < 0 {
			return Window{}, wrong(fmt.Sprintf("%q are not days", part))
		}
		for day := from; ; day = (day + 1) % 7 {
			w.days[day] = true
			if day == to {
				break
			}
		}
	}
	return w, nil
}

// Opens is how long it takes until the window is open: 0 while it is.
func (w Window) Opens(now time.Time) time.Duration {
	if !w.set {
		return 0
	}
	now = now.UTC()
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	length := w.to - w.from
	if length <= 0 {
		length += 24 * 60
	}
	for offset := -1; offset <= 7; offset++ {
		day := midnight.AddDate(0, 0, offset)
		if !w.days[day.Weekday()] {
			continue
		}
		from := day.Add(time.Duration(w.from) * time.Minute)
		if until := from.Add(time.Duration(length) * time.Minute); now.Before(until) {
			return max(0, from.Sub(now))
		}
	}
	return 0
}
