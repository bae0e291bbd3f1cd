// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/front/istiocsr/cabundle"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// witness sees every version of the CAs of a mesh, and every certificate of its istiod,
// from its beginning to its check.
type witness struct {
	t    *testing.T
	stop func()
	done sync.WaitGroup

	// objects are what is watched.
	objects []client.Object

	mu              sync.Mutex
	bundles, istiod []version
	// newest are the versions that were seen last, by the names of the objects.
	newest map[string]uint64
}

// version is what an object held from a write on.
type version struct {
	number uint64
	seen   time.Time
	text   string
}

// witness begins to watch the mesh, whose CAs are copied into a namespace.
func (m mesh) witness(copies string) *witness {
	m.t.Helper()
	ctx, cancel := context.WithCancel(m.t.Context())
	w := &witness{t: m.t, stop: cancel, newest: map[string]uint64{}, objects: []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: copies, Name: cabundle.Name}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "istiod-tls"}},
	}}
	w.watch(ctx, &corev1.ConfigMapList{}, copies, cabundle.Name, &w.bundles, func(o any) string {
		copied, ok := o.(*corev1.ConfigMap)
		if !ok {
			return ""
		}
		return copied.Data[cabundle.Key]
	})
	w.watch(ctx, &corev1.SecretList{}, m.namespace, "istiod-tls", &w.istiod, func(o any) string {
		secret, ok := o.(*corev1.Secret)
		if !ok {
			return ""
		}
		return string(secret.Data[corev1.TLSCertKey])
	})
	m.t.Cleanup(func() { cancel(); w.done.Wait() })
	planetest.Eventually(m.t, "the first CAs and the first certificate of istiod", func() (bool, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.bundles) > 0 && len(w.istiod) > 0, nil
	})
	return w
}

func (w *witness) watch(ctx context.Context, list client.ObjectList, namespace, name string, into *[]version, read func(any) string) {
	w.t.Helper()
	events, err := admin.Watch(ctx, list, client.InNamespace(namespace), client.MatchingFields{"metadata.name": name})
	must(w.t, err)
	w.done.Go(func() {
		for event := range events.ResultChan() {
			object, ok := event.Object.(client.Object)
			switch {
			case ctx.Err() != nil:
				continue // the last event is that of the end
			case !ok:
				w.t.Errorf("watching %s: %v", name, event.Object)
				continue
			}
			seen := version{number(w.t, object.GetResourceVersion()), time.Now(), read(event.Object)}
			if event.Type == watch.Deleted {
				seen.text = ""
			}
			w.mu.Lock()
			w.newest[name] = seen.number
			if last := len(*into) - 1; last < 0 || (*into)[last].text != seen.text {
				*into = append(*into, seen)
			}
			w.mu.Unlock()
		}
		if ctx.Err() == nil {
			w.t.Errorf("the watch of %s has ended before the test", name)
		}
	})
}

// catchUp waits until the witness has seen what there is: a watch comes later than a read.
func (w *witness) catchUp() {
	w.t.Helper()
	for _, object := range w.objects {
		must(w.t, admin.Get(w.t.Context(), client.ObjectKeyFromObject(object), object))
		now := number(w.t, object.GetResourceVersion())
		planetest.Eventually(w.t, "the witness to see the newest "+object.GetName(), func() (bool, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.newest[object.GetName()] >= now, fmt.Errorf("it has seen version %d, and there is %d", w.newest[object.GetName()], now)
		})
	}
}

// check ends the witness, and checks each certificate against each version of the CAs
// while it was in use: those of istiod until the next one, those of workloads for their
// time. The CAs may come late to a certificate by lag, and never leave it.
func (w *witness) check(workloads []handed, lag time.Duration) {
	w.t.Helper()
	w.catchUp()
	w.stop()
	w.done.Wait()
	pairs := 0
	for i, istiod := range w.istiod {
		until := time.Now()
		if i+1 < len(w.istiod) {
			until = w.istiod[i+1].seen
		}
		if istiod.text == "" {
			w.t.Errorf("istiod had no certificate at %s", istiod.seen)
			continue
		}
		pairs += w.trusted(fmt.Sprintf("certificate %d of istiod", i+1), handed{istiod.text, istiod.number, istiod.seen, until}, istiod.seen.Add(lag))
	}
	for i, workload := range workloads {
		pairs += w.trusted(fmt.Sprintf("certificate %d of a workload", i+1), workload, time.Time{})
	}
	w.t.Logf("%d versions of the CAs, %d certificates of istiod, %d of workloads: %d pairs were checked", len(w.bundles), len(w.istiod), len(workloads), pairs)
}

// trusted checks one certificate, and returns the number of versions of the CAs of its
// time. Until late it may be that none has come yet that it leads to.
func (w *witness) trusted(name string, c handed, late time.Time) (pairs int) {
	w.t.Helper()
	found := false
	for i, bundle := range w.bundles {
		replaced := time.Now()
		if i+1 < len(w.bundles) {
			if replaced = w.bundles[i+1].seen; w.bundles[i+1].number <= c.version {
				continue // before its time
			}
		}
		if bundle.seen.After(c.until) {
			break
		}
		pairs++
		at := bundle.seen
		if at.Before(c.from) {
			at = c.from
		}
		err := verify(c.certificates, bundle.text, at)
		if err != nil && (found || replaced.After(late)) {
			w.t.Errorf("%s is not trusted with version %d of the CAs, of %s: %v; there are %d", name, i+1, bundle.seen.Format(time.StampMilli), err, countCAs(bundle.text))
		}
		found = found || err == nil
	}
	return pairs
}
