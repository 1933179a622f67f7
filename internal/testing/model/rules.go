package model

// Rules are the rules of the protocol that can be switched off, one field each. The comments say
// what the protocol does while the rule is on.
type Rules struct {
	// Of the turn.
	FinishByNumber       bool // a finish counts only if the asker holds the batch and names its number
	TellAgain            bool // a holder that does not know its batch is told it again
	TellAgainRenews      bool // and its lease begins anew
	IdleTellsAgain       bool // also a holder that knows the number and says that it holds nothing: Redis forgot
	TakeWhenEmpty        bool // nothing is taken while prepare is not empty
	TakeByNumber         bool // only who knows the number of the slot may take
	TakeoverNumber       bool // a takeover changes the number
	LeaveNumber          bool // leaving changes the number
	NumberOutgrows       bool // a new number is larger than any that Redis may have forgotten
	BusyHidesNumber      bool // BUSY does not reveal the number
	HolderLease          bool // a holder is judged by its own lease, not by the asker's
	FreshCopyWins        bool // what was sent again meanwhile is not overwritten by what goes back
	DueRetryMerges       bool // a due retry gives way to a fresh copy in the store
	TakeSupersedesRetry  bool // a taken content leaves no waiting retry behind
	RetryAlone           bool // a retry is a batch of its own
	HandBackKeepsAttempt bool // what was not started goes back without spending an attempt
	HandBackKeepsTime    bool // and, in a range merge, to its time, though it was sent again for a later one
	SnoozeKeepsAttempt   bool // what its handler put back goes back without spending an attempt
	SnoozeWaits          bool // and waits for as long as it was put back
	SnoozeKeepsPriority  bool // and then takes its place by its priority

	// Of the client.
	CheckBeforeHandler bool // lease or session deadline is looked at before a handler starts
	RepeatTurn         bool // a turn without an answer is repeated unchanged
	AskHolder          bool // who is BUSY asks the holder, and one that is asked of a batch it does not carry turns
	QuorumWrite        bool // a holder counts as dead only by a read after a quorum write
	SessionLives       bool // after its deadline a worker goes on only if its session has not expired

	// Of the journal.
	SettleBelow bool // a batch settles only what was sent while the number was below its own

	// Of the send.
	SendRestartsBudget bool // a range-merge send onto a retry in the store buys all tries anew
}

// AllRules is the protocol as it is.
func AllRules() Rules {
	return Rules{
		FinishByNumber:       true,
		TellAgain:            true,
		TellAgainRenews:      true,
		IdleTellsAgain:       true,
		TakeWhenEmpty:        true,
		TakeByNumber:         true,
		TakeoverNumber:       true,
		LeaveNumber:          true,
		NumberOutgrows:       true,
		BusyHidesNumber:      true,
		HolderLease:          true,
		FreshCopyWins:        true,
		DueRetryMerges:       true,
		TakeSupersedesRetry:  true,
		RetryAlone:           true,
		HandBackKeepsAttempt: true,
		HandBackKeepsTime:    true,
		SnoozeKeepsAttempt:   true,
		SnoozeWaits:          true,
		SnoozeKeepsPriority:  true,
		CheckBeforeHandler:   true,
		RepeatTurn:           true,
		AskHolder:            true,
		QuorumWrite:          true,
		SessionLives:         true,
		SettleBelow:          true,
		SendRestartsBudget:   true,
	}
}
