package cluster

import (
	"maps"
	"slices"
	"strings"
)

// scalar returns a resource's column, to be changed.
func (e *edit) scalar(resource string) *Scalar {
	e.ownResources()
	r := e.c.resources
	if !e.own.scalars {
		e.own.scalars = true
		r.Scalars = maps.Clone(r.Scalars)
	}
	s := r.scalar(resource)
	if !e.own.scalar[resource] {
		resource = strings.Clone(resource) // maps keep the last string that they are given
		e.own.scalar[resource] = true
		s = &Scalar{slices.Clone(s.Nodes), slices.Clone(s.Allocatable), slices.Clone(s.Requested)}
		r.Scalars[resource] = s
	}
	return s
}

// replaceScalars gives a node other scalars than it had, so many.
func (e *edit) replaceScalars(node uint32, had int32, now []scalarAmount) {
	for _, a := range now {
		s := e.c.resources.Scalars[a.resource]
		at, there := s.Find(node)
		if there {
			had--
		}
		switch {
		case there && s.Allocatable[at] == a.allocatable && s.Requested[at] == a.requested:
		case there:
			s = e.scalar(a.resource)
			s.Allocatable[at], s.Requested[at] = a.allocatable, a.requested
		default:
			s = e.scalar(a.resource)
			s.Nodes = slices.Insert(s.Nodes, at, node)
			s.Allocatable = slices.Insert(s.Allocatable, at, a.allocatable)
			s.Requested = slices.Insert(s.Requested, at, a.requested)
		}
	}
	if had == 0 {
		return
	}
	for resource, s := range e.c.resources.Scalars {
		at, there := s.Find(node)
		if _, has := scalarIn(now, resource); there && !has {
			s = e.scalar(resource)
			s.Nodes = slices.Delete(s.Nodes, at, at+1)
			s.Allocatable = slices.Delete(s.Allocatable, at, at+1)
			s.Requested = slices.Delete(s.Requested, at, at+1)
		}
	}
}

// image returns an image, to be changed.
func (e *edit) image(name string) *image {
	if !e.own.images {
		e.own.images = true
		e.c.images = maps.Clone(e.c.images)
	}
	m := e.c.image(name)
	if !e.own.image[name] {
		name = strings.Clone(name) // maps keep the last string that they are given
		e.own.image[name] = true
		m = &image{slices.Clone(m.kinds), slices.Clone(m.kindSizes), slices.Clone(m.nodes), slices.Clone(m.sizes)}
		e.c.images[name] = m
	}
	return m
}

// replaceImages gives a node other images of its own than it had, so many, and tells how many it has. The first of a name
// counts.
func (e *edit) replaceImages(node uint32, had int32, now []imageSize) (has int32) {
	stays := make(map[string]bool, len(now))
	for _, m := range now {
		if stays[m.name] {
			continue
		}
		stays[m.name] = true
		has++
		at, there := 0, false
		if is := e.c.images[m.name]; is != nil {
			at, there = slices.BinarySearch(is.nodes, node)
		}
		if there {
			had--
		}
		switch {
		case there && e.c.images[m.name].sizes[at] == m.sizeBytes:
		case there:
			e.image(m.name).sizes[at] = m.sizeBytes
		default:
			is := e.image(m.name)
			is.nodes, is.sizes = slices.Insert(is.nodes, at, node), slices.Insert(is.sizes, at, m.sizeBytes)
		}
	}
	if had == 0 {
		return has
	}
	for name, m := range e.c.images {
		if at, there := slices.BinarySearch(m.nodes, node); there && !stays[name] {
			m = e.image(name)
			m.nodes, m.sizes = slices.Delete(m.nodes, at, at+1), slices.Delete(m.sizes, at, at+1)
		}
	}
	return has
}
