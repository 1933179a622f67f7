package wire

import "github.com/slotmq/go-rmq/producer"

// Receipt is what became of a message that was sent.
type Receipt struct {
	Outcome string `json:"outcome"`
	Slot    int    `json:"slot"`
	Due     Stamp  `json:"due,omitzero"`
	Past    bool   `json:"past,omitempty"`
}

// ReceiptOf is a receipt of a producer.
func ReceiptOf(r producer.Receipt) Receipt {
	return Receipt{r.Outcome.String(), r.Slot, At(r.Due), r.Past}
}
