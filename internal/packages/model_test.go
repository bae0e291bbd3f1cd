// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/history"
)

// Revision 1 has succeeded and revision 2 hangs. However it is rolled back, whatever waits
// for approval meanwhile, and wherever the manager is killed: it is revision 2 that is rolled
// back and rejected, and the record says so.
func TestWorker_RollbackModel(t *testing.T) {
	for _, automatic := range []bool{false, true} {
		for _, waits := range []bool{false, true} {
			for _, number := range []int64{0, 1} {
				for _, crash := range []bool{false, true} {
					if automatic && number != 0 {
						continue
					}
					t.Run(fmt.Sprintf("Automatic=%t/Waits=%t/To=%d/Crash=%t", automatic, waits, number, crash), func(t *testing.T) {
						playRollback(t, automatic, waits, number, crash)
					})
				}
			}
		}
	}
}

func playRollback(t *testing.T, automatic, waits bool, number int64, crash bool) {
	t.Helper()
	spec := v1alpha1.PackageSpec{Approval: v1alpha1.ApprovalManual, ProgressDeadline: &metav1.Duration{Duration: 10 * time.Minute}}
	if automatic {
		spec.OnFailure = v1alpha1.FailureRollback
	}
	l := newLine(t, spec)
	good := l.deliver(phase(configMap("a", "good")))
	l.approve(good.Spec.ContentDigest)
	l.mustSettle(10 * time.Second)
	bad := l.deliver(phase(configMap("a", "bad")), phase(deployment("gate", "v1")))
	l.approve(bad.Spec.ContentDigest)
	l.mustSettle(10 * time.Second)
	next, waiting := int64(3), ""
	if waits {
		waiting = l.deliver(phase(configMap("a", "next"))).Spec.ContentDigest
		l.mustSettle(10 * time.Second)
		next = 4
	}
	if crash {
		created := false
		l.Refuse = func(write string) error {
			created = created || write == fmt.Sprintf("create web-%d", next)
			if created && strings.HasPrefix(write, "status web ") {
				return errRefused
			}
			return nil
		}
	}
	if automatic {
		l.advance(10 * time.Minute)
	} else {
		l.rollBack(number)
	}
	_ = l.settle(10 * time.Second)
	l.Refuse = nil
	l.restart()
	l.mustSettle(10 * time.Second)

	pkg := l.pkg()
	record := pkg.Status.Rollback
	if automatic {
		record = pkg.Status.AutomaticRollback
	}
	if record == nil || record.FromRevision != 2 || record.ToRevision != 1 || record.Revision != next || record.RejectedDigest != bad.Spec.ContentDigest {
		t.Errorf("the record is %+v, want revision %d from 2 to 1, which rejects %s", record, next, bad.Spec.ContentDigest)
	}
	want(t, "what has succeeded runs", "objects", []string{"ConfigMap/a=good"}, l.objects())
	line, err := l.line()
	if err != nil {
		t.Fatal(err)
	}
	if need := line.NeedFor(pkg, bad.Spec.ContentDigest); need != history.NeedRejected {
		t.Errorf("the content that was rolled back is %s, want it rejected", need)
	}
	if need := line.NeedFor(pkg, waiting); waits && need != history.NeedRevision {
		t.Errorf("the content that waited for approval is %s: it was not rolled back", need)
	}
}
