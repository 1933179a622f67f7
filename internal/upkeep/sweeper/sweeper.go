package sweeper

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/upkeep/periodic"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

const (
	// slotsAtOnce is in how many slots one round trip removes notes.
	slotsAtOnce = 8

	// mostNamed is how many contents of a slot may wait for that. A sweep finds the notes of others.
	mostNamed = 4 * protocol.MaxBatch
)

// Topic is one with notes.
type Topic struct {
	Name      string // with its namespace
	Scheduled *schedule.Topic
	Look      time.Duration // how often its slots are looked at
}

// Sweeper removes the notes of some topics' messages that are over.
type Sweeper struct {
	periodic.Needs
	of    map[*schedule.Topic]*Topic
	table *periodic.Timetable[*Topic] // when each topic's slots are swept
	lines *periodic.Lines[place]

	mu   sync.Mutex
	jobs map[place]*job // what is to be done, and how far sweeps have come
}

// place is a slot of a topic.
type place struct {
	topic *Topic
	slot  int
}

func (p place) keys() protocol.SlotKeys { return protocol.KeysOf(p.topic.Name, p.slot) }

// job is what is to be done at a slot.
type job struct {
	named  []string // contents that are over, whose notes are removed
	sweep  bool
	cursor uint64 // where the next sweep begins
}

// New returns a sweeper for some topics, at least one.
func New(n periodic.Needs, topics []*Topic) *Sweeper {
	s := &Sweeper{Needs: n, of: map[*schedule.Topic]*Topic{}, jobs: map[place]*job{}}
	for _, t := range topics {
		s.of[t.Scheduled] = t
	}
	s.table = periodic.NewRegular(topics, func(t *Topic) time.Duration { return t.Look })
	s.lines = periodic.NewLines(slotsAtOnce, n.Life.Go, s.do)
	return s
}

// Forget has the notes of some contents of a slot removed, but of none that lives. It returns at
// once.
func (s *Sweeper) Forget(of *schedule.Topic, slot int, contents []string) {
	s.add(place{s.of[of], slot}, func(j *job) {
		j.named = append(j.named, contents[:min(len(contents), max(0, mostNamed-len(j.named)))]...)
	})
}

// Hurry has all slots of a topic swept that are this worker's: some may be new to it. It does
// nothing for a topic without notes.
func (s *Sweeper) Hurry(of *schedule.Topic) {
	if t := s.of[of]; t != nil {
		s.table.Hurry(t)
	}
}

// Run sweeps the slots of each topic now and then.
func (s *Sweeper) Run() {
	for topics := s.table.Next(s.Life.Background); topics != nil; topics = s.table.Next(s.Life.Background) {
		for _, t := range topics {
			for _, x := range s.Schedule.Assigned(t.Scheduled) {
				s.add(place{t, x.Index}, func(j *job) { j.sweep = true })
			}
		}
	}
}

// add has something done at a slot.
func (s *Sweeper) add(p place, what func(*job)) {
	_, addr, err := cluster.MasterFor(s.Life.Requests, s.Redis, protocol.StoreKey(p.topic.Name, p.slot))
	if err != nil {
		return // the next sweep
	}
	s.mu.Lock()
	j := s.jobs[p]
	if j == nil {
		j = new(job)
		s.jobs[p] = j
	}
	what(j)
	s.mu.Unlock()
	s.lines.Add(addr, p)
}

// do does what is to be done at some slots, all of one server.
func (s *Sweeper) do(_ string, places []place) {
	var cmds []redis.Cmder
	swept := map[place]redis.Cmder{}
	s.mu.Lock()
	for _, p := range places {
		j := s.jobs[p]
		for some := range slices.Chunk(j.named, protocol.MaxBatch) {
			cmds = append(cmds, s.Scripts.ForgetCmd(s.Life.Requests, p.keys(), some))
		}
		if j.sweep {
			swept[p] = s.Scripts.SweepCmd(s.Life.Requests, p.keys(), j.cursor)
			cmds = append(cmds, swept[p])
		}
		j.named, j.sweep = nil, false
	}
	s.mu.Unlock()
	s.Scripts.Exec(s.Life.Requests, cmds...)
	var wrong error
	for _, cmd := range cmds {
		wrong = cmp.Or(cmd.Err(), wrong)
	}
	if wrong != nil {
		cluster.NoteError(s.Life.Requests, s.Redis, wrong)
		s.Log.Debug("notes of what is over are left, until a sweep finds them", zap.Error(wrong))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, cmd := range swept {
		removed, cursor, err := protocol.ForgetAnswer(cmd)
		if err == nil {
			s.jobs[p].cursor = cursor
		}
		if removed > 0 {
			s.Log.Debug("notes were left over and are removed", zap.String("topic", p.topic.Name), zap.Int("slot", p.slot), zap.Int("notes", removed))
		}
	}
}
