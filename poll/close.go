package poll

// A topic is closed when nobody has come for a while, or with its poller.

// closeIfIdle closes the topic if nobody waits, and nothing is under way.
func (t *topic) closeIfIdle() {
	if t.queue.endIfIdle() {
		t.wind(nil)
	}
}

// close closes the topic, whatever goes on there. Turns that are under way are waited for: what they take is given back.
func (t *topic) close(why error) {
	<-t.opened
	if t.failed != nil || !t.queue.end(why) {
		<-t.closed
		return
	}
	t.wind(why)
}

// wind ends the work of the topic.
func (t *topic) wind(why error) {
	t.life.EndBackground()
	t.schedule.Stop()
	t.schedule.WaitIdle()
	t.schedule.Close()
	t.life.EndListening()
	t.life.Wait()
	t.upkeep.end()
	t.life.End(why)
	t.process.topics.forget(t)
	t.log.Debug("topic closed")
}

// abandon has the topic be closed without waiting: its turns may have no answer. What they have taken comes again when
// its time to run is over.
func (t *topic) abandon(why error) {
	t.life.End(why)
	t.queue.abandon()
}
