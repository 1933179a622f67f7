package schedule

import (
	"testing"
	"time"
)

// What a turn costs: of a slot that sleeps, of one that goes on from batch to batch alone, of many
// whose topics wait for permits, and of a topic with a rate.
func BenchmarkTurn(b *testing.B) {
	var hands []Hand
	b.Run("sleeps", func(b *testing.B) {
		p, topics := stage(64, 2, 2, 2, 2)
		drain := func() {
			hands = p.Next(8, hands[:0])
			for _, h := range hands {
				h.Slot.Rest(h.Facts, p.clock.Add(time.Hour))
			}
		}
		drain()
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			topics[i%4].Wake(i/4%2, 0)
			drain()
		}
	})
	b.Run("busy", func(b *testing.B) {
		p, _ := stage(64, 1)
		p.passes = time.Microsecond
		x := p.takeOne(&testing.T{}).Slot
		b.ReportAllocs()
		for b.Loop() {
			x.Work(took())
			x.Again(took(), time.Time{})
			hands = p.Next(8, hands[:0])
		}
	})
	for _, rated := range []bool{false, true} {
		name := "wait"
		if rated {
			name = "rated"
		}
		b.Run(name, func(b *testing.B) {
			p, topics := stage(8, 2, 2, 2, 2, 2, 2, 2, 2)
			if rated {
				for _, t := range topics {
					t.SetRate(Rate{PerSecond: 1e9, Burst: 1e9})
				}
				p.clock = p.clock.Add(time.Second)
				p.wakeDue()
			}
			p.passes = time.Millisecond
			b.ReportAllocs()
			batch := Facts{Held: true, Fence: 1, Taken: 1}
			for b.Loop() {
				hands = p.Next(8, hands[:0])
				for _, h := range hands {
					if h.Leave {
						h.Slot.Left(Facts{})
					} else if _, now := h.Slot.Work(batch); now {
						h.Slot.Again(batch, time.Time{})
					}
				}
			}
		})
	}
}
