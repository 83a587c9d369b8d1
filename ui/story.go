package ui

import (
	"context"
	"errors"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
)

// Story is a tour of the store that is open. Its scenes are played one by one, by
// several goroutines but never two at a time.
type Story interface {
	// Next plays the next scene: it may write. It is [ErrStoryOver] behind the last one;
	// after any other error the same scene can be played again.
	Next(ctx context.Context) (Scene, error)
}

// Scene is what a scene has to say, and where it is.
type Scene struct {
	Number, Of int
	Caption    string // one line
	Session    string // with Node; or Execution
	Node       string
	Execution  string
}

// ErrStoryOver is the next scene behind the last one.
var ErrStoryOver = errors.New("the story is over")

// storyState is the story that is told.
type storyState struct {
	of    Story // nil: none
	scene Scene
	busy  bool
	over  bool
}

// telling reports whether enter plays the next scene.
func (m *Model) telling() bool {
	return m.story.of != nil && !m.story.over
}

// turnPage plays the next scene and goes to where it is.
func (m *Model) turnPage() tea.Cmd {
	s := &m.story
	if s.busy || !m.telling() {
		return nil
	}
	s.busy = true
	ctx, of := m.ctx, s.of
	return func() tea.Msg {
		scene, err := of.Next(ctx)
		return answerFunc(func(m *Model) tea.Cmd { return m.tell(scene, err) })
	}
}

func (m *Model) tell(scene Scene, err error) tea.Cmd {
	s := &m.story
	s.busy = false
	m.screen.bars()
	switch {
	case errors.Is(err, ErrStoryOver):
		s.over = true
		m.say("the story is over; enter opens what is selected again")
		return nil
	case err != nil:
		m.failed("the story", err)
		return nil
	}
	s.scene = scene
	m.unsay()
	if m.plain {
		m.say(s.caption() + "  enter: next")
	}
	m.detail.release()
	switch {
	case scene.Session != "":
		// The navigator may not list it yet, and the tree may not have read it.
		here := m.subject == subject{session, scene.Session}
		cmd := m.jumpToSession(scene.Session, scene.Node)
		if _, read := m.tree.widget.Index().Find(scene.Node); here && read {
			m.tree.want = ""
			cmd = tea.Batch(cmd, m.tree.selectNode(m, scene.Node))
		} else if here {
			cmd = tea.Batch(cmd, m.tree.reload(m))
		}
		return tea.Batch(cmd, m.nav.sessions.load(m))
	case scene.Execution != "":
		cmd := m.jump(scene.Execution)
		return tea.Batch(cmd, m.nav.execs.load(m))
	}
	return nil
}

// caption is the line that narrates.
func (s *storyState) caption() string {
	if s.of == nil || s.over || s.scene.Number == 0 {
		return ""
	}
	return strconv.Itoa(s.scene.Number) + "/" + strconv.Itoa(s.scene.Of) + " " + s.scene.Caption
}

// narration is the caption, with how to go on where there is room.
func (m *Model) narration(w int) term.Text {
	text := term.Sanitise(m.story.caption())
	if text.Empty() {
		return text
	}
	more := term.Lit("  enter: next")
	if text.Width()+more.Width() <= w-2 {
		text = text.Plus(more)
	}
	return text
}
