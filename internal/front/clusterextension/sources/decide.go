// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/strata-run/strata/internal/catalog"
	"github.com/strata-run/strata/internal/oci"
)

// Catalog is what a ClusterCatalog asks for. One of Image, Base and Folder says where it is.
type Catalog struct {
	Name string
	// Image is a reference, and Poll how often its tag is looked up; 0 is never.
	Image       string
	Poll        time.Duration
	Credentials Credentials
	// Base is the address that a catalogd serves the catalog at, and Reference the image by digest
	// that it says it serves.
	Base, Reference string
	// Folder is one of this machine.
	Folder string
}

// folderPoll is how often folders are looked at.
const folderPoll = time.Minute

// origin tells where a catalog comes from, and changes when it is to be looked at again at once.
func (c *Catalog) origin() string {
	switch {
	case c.Folder != "":
		return "folder " + c.Folder
	case c.Base != "":
		return "server " + c.Base + " " + c.Reference
	}
	return "image " + c.Image
}

// host is what a job for the catalog talks to.
func (c *Catalog) host() string {
	switch {
	case c.Folder != "":
		return ""
	case c.Base != "":
		_, address, _ := strings.Cut(c.Base, "://")
		return hostOf(address)
	}
	return hostOf(c.Image)
}

func hostOf(image string) string {
	host, _, _ := strings.Cut(image, "/")
	return host
}

// poll is how often the catalog is looked at though nothing about it has changed.
func (c *Catalog) poll() time.Duration {
	switch {
	case c.Folder != "":
		return folderPoll
	case c.Base != "" || strings.Contains(c.Image, "@"):
		return 0
	}
	return c.Poll
}

// due is whether a catalog is to be looked at now, and when it is otherwise; the zero time is never.
// checked is the origin that it was last looked at with success or final failure.
func (c *Catalog) due(known catalog.Snapshot, checked string, now time.Time) (bool, time.Time) {
	switch {
	case checked != c.origin():
		return true, time.Time{}
	case final(known.Err):
		return false, time.Time{}
	case known.Content == nil || known.Err != nil:
		return true, time.Time{}
	case c.poll() == 0:
		return false, time.Time{}
	}
	next := catalog.NextPoll(c.Name, known.Checked, c.poll())
	return !now.Before(next), next
}

// final is whether only a change of what is asked for can help.
func final(err error) bool {
	failure := &oci.Error{}
	return errors.As(err, &failure) && failure.Final()
}

// configs finds the folder of an image with the catalog. What its tag names may get the label later,
// and an image by digest does not.
func configs(asked string, image oci.Image) (string, error) {
	folder, err := catalog.ConfigsFolder(image.Labels)
	switch {
	case err == nil:
		return folder, nil
	case strings.Contains(asked, "@"):
		return "", &oci.Error{Kind: oci.Refused, Text: err.Error()}
	}
	return "", &oci.Error{Kind: oci.Other, Text: err.Error()}
}

// Bundle is an image of a bundle that is wanted.
type Bundle struct {
	// Who wants it: the name of a ClusterExtension.
	Who string
	// Image is the reference as the catalog has it, and Pinned that by digest which a revision has
	// recorded for it, or empty.
	Image, Pinned string
	// Content is the digest of the catalog: a tag is looked up once for each.
	Content     string
	Credentials Credentials
}

// key is the job that gets the bundle, which extensions with other credentials have one of their own for.
func (b *Bundle) key() string {
	if b.Pinned != "" {
		return fmt.Sprintf("bundle %s for %s", b.Pinned, b.Who)
	}
	return fmt.Sprintf("bundle %s of %s for %s", b.Image, b.Content, b.Who)
}

// digestOf is the digest of a reference that has one.
func digestOf(pinned string) string {
	_, digest, _ := strings.Cut(pinned, "@")
	return digest
}
