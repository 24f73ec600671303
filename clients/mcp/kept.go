package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
)

// kept keeps the objects of calls for further calls of the session, up to a number of bytes. The objects that were used least lately go first.
type kept struct {
	maximum int

	mutex sync.Mutex
	bytes int
	all   []keptObjects // used least lately first
}

type keptObjects struct {
	id    string
	texts []string
	bytes int // of its texts, also of a text that another entry has
}

// with returns the objects of an id and more of them, and the id of both.
func (k *kept) with(id string, more []string) (texts []string, both string, err error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if id != "" {
		i := slices.IndexFunc(k.all, func(o keptObjects) bool { return o.id == id })
		if i < 0 {
			return nil, "", fmt.Errorf("%s: there are no objects of this id: give the manifests again", of)
		}
		texts = k.all[i].texts
		k.all = append(slices.Delete(slices.Clone(k.all), i, i+1), k.all[i])
	}
	if len(more) == 0 {
		return texts, id, nil
	}
	texts = slices.Concat(texts, more)
	both = idOf(texts)
	if slices.ContainsFunc(k.all, func(o keptObjects) bool { return o.id == both }) {
		return texts, both, nil
	}
	size := 0
	for _, text := range texts {
		size += len(text)
	}
	k.all = append(k.all, keptObjects{both, texts, size})
	for k.bytes += size; k.bytes > k.maximum; k.all = k.all[1:] {
		k.bytes -= k.all[0].bytes
	}
	return texts, both, nil
}

// idOf is the id of objects: equal objects have equal ids.
func idOf(texts []string) string {
	h := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(h, "%d:%s", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
