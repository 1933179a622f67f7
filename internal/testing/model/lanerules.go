package model

// LaneRules are the rules that lanes add, or that mean something else with them. The comments say what
// the protocol does while the rule is on.
type LaneRules struct {
	// Of the turn.
	TakeByHolder         bool // while prepare is not empty only its holder takes
	SkipFlying           bool // what is in flight is not taken again: its fresh copy waits
	SuspectAlone         bool // a suspect is taken only when nothing is in flight
	NothingBesideSuspect bool // and nothing is taken beside it
	SuspectLasts         bool // it stays one when a living worker reports a failure
	ListedOnly           bool // the finish of a rolling turn needs the number, as any other
	RestGoesOn           bool // what a rolling turn does not list goes on
	RollingNumber        bool // a turn that leaves something in flight changes the number, also if it takes nothing
	GoesOnRenews         bool // and its lease begins anew
	IdleTellsAgain       bool // a holder that says it holds nothing is told again
	NumberOutgrows       bool // a new number is larger than any that Redis may have forgotten

	// Of the client.
	OneOfEntity       bool // nothing begins while a message of its entity runs
	TellKeepsRunning  bool // told again, what runs goes on and is not begun once more
	ListedIsOver      bool // told again, what was listed in that turn is new
	BackDoesNotBegin  bool // what is handed back does not begin from when the turn is made
	MarkHasNumber     bool // told again, a content counts as taken under the number of its own take
	LateStops         bool // when the lease or the session may be over handlers end, and none begins
	TurnOutdatesTouch bool // a touch that a turn has overtaken is not listened to
	HelperLeaves      bool // a helper whose lanes have ended reports and leaves
	ToldIsAll         bool // told again, what is not told, or under a later take, is the worker's no more: Redis forgot it
	AskHolder         bool // who is BUSY asks the holder, and one that holds nothing turns
}

// AllLaneRules is the protocol with lanes.
func AllLaneRules() LaneRules {
	return LaneRules{
		TakeByHolder: true, SkipFlying: true, SuspectAlone: true, NothingBesideSuspect: true, SuspectLasts: true,
		ListedOnly: true, RestGoesOn: true, RollingNumber: true, GoesOnRenews: true, IdleTellsAgain: true,
		NumberOutgrows: true,
		OneOfEntity:    true, TellKeepsRunning: true, ListedIsOver: true, BackDoesNotBegin: true, MarkHasNumber: true,
		LateStops: true, TurnOutdatesTouch: true, HelperLeaves: true, ToldIsAll: true, AskHolder: true,
	}
}

// LaneOptions of a run: the rules, and how large its world is.
type LaneOptions struct {
	LaneRules
	ZooKeeper bool // a holder is judged by its session, not by its lease
	Retries   int8
	Max       LaneBounds
	Touches   bool
	Forgets   bool   // Redis goes back, or its meta is deleted
	Start     []step // a walk begins with these
}

// LaneBounds of the world: how many there are, and how many may happen.
type LaneBounds struct {
	Workers               int // the last of three only helps
	Sends, Faults, Pauses int8
}
