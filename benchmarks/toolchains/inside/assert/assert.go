// Package assert has what HumanEvalPack's tests use of testify: no module needs to be downloaded for them.
package assert

import (
	"bytes"
	"reflect"
	"testing"
)

// Assertions belong to one test.
type Assertions struct{ t *testing.T }

// New gives the assertions of a test.
func New(t *testing.T) *Assertions { return &Assertions{t} }

// Equal fails the test unless both are deeply equal; slices of bytes are compared by content.
func (a *Assertions) Equal(want, got interface{}, _ ...interface{}) bool {
	a.t.Helper()
	left, isBytes := want.([]byte)
	right, alsoBytes := got.([]byte)
	if isBytes && alsoBytes && left != nil && right != nil {
		if bytes.Equal(left, right) {
			return true
		}
	} else if reflect.DeepEqual(want, got) {
		return true
	}
	a.t.Errorf("got %#v, want %#v", got, want)
	return false
}
