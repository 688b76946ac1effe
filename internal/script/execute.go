package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/store"
)

// Journal is what a run has written. Its methods are called by one goroutine.
type Journal interface {
	// Load returns the entries behind the first n, in order.
	Load(ctx context.Context, n int) ([]Entry, error)
	// Append makes entries durable, in order and all at once, or fails. In the same transaction, and first, it makes the changes
	// of those that have one (Entry.Change), whose output is theirs: a change that cannot be made gives its entry an error instead
	// and leaves nothing behind. It returns how many entries the journal has now.
	Append(ctx context.Context, entries ...*Entry) (total int, err error)
	// Changed has a value when somebody else has appended: a signal, the end of a child.
	Changed() <-chan struct{}
}

// Call is a tool call of a program.
type Call struct {
	Seq         int64
	Tool        string
	Input       json.RawMessage
	Description string
	// Begun says that an earlier execution has begun the call and left no result: whether it took effect is not known.
	Begun bool
}

// Action is a call that was understood and not yet carried out.
type Action struct {
	// Pure says that it changes nothing, so that it need not be announced in the journal before it is carried out.
	Pure bool
	// Run carries it out, on a goroutine of its own, and returns its output as JSON, or a change of the database that has one. A
	// *Failure is thrown inside the program; any other error ends the execution without a word in the journal.
	Run func(ctx context.Context) (json.RawMessage, Change, error)
	// Hold says, in place of Run, that the call has to wait for somebody else. It is called once the call stands in the journal, and
	// registers what is waited for; the call is prepared anew when the journal has changed, and by the next execution.
	Hold func(ctx context.Context) error
}

// Change is a change of the database that is made in the transaction which records it. It returns the output of its call.
type Change func(tx store.Tx) (json.RawMessage, error)

// Effects carries out what programs ask for.
type Effects interface {
	// Prepare understands a call and changes nothing. A *Failure is thrown inside the program.
	Prepare(ctx context.Context, call Call) (Action, error)
	// Delegate begins a child run and appends the entry, with the id of the child in it, in one transaction. The child's end
	// appends the result. A *Failure is thrown inside the program and journaled.
	Delegate(ctx context.Context, entry Entry) (Entry, error)
	// Progress shows what a program reports of itself; it is not journaled.
	Progress(patch json.RawMessage)
}

// Outcome is how an execution ended. Exactly one of its fields is set, or Parked.
type Outcome struct {
	// Output is what the program returned.
	Output json.RawMessage
	// Failure is why it failed.
	Failure *Failure
	// Continued is the input of the run that takes over.
	Continued json.RawMessage
	// Parked says that the program waits and that nothing of it is needed in memory. WakeAt is when it must be started again at
	// the latest, in milliseconds since the epoch; zero when only an entry of somebody else wakes it.
	Parked bool
	WakeAt int64
	// Waits are the entries of what a parked program waits for: timers, waits for events, calls of children.
	Waits []Entry
}

// Execution is one run of a program, from the top to its next long wait.
type Execution struct {
	Program *Program
	Input   json.RawMessage
	RunID   string
	Journal Journal
	Effects Effects
	Clock   clock.Clock
}

// Execute runs the program. An error is of the server, of ctx or of the journal, never of the program: the run can be executed
// again and goes on.
func (e *Execution) Execute(ctx context.Context) (Outcome, error) {
	img, err := image()
	if err != nil {
		return Outcome{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	x := &execution{
		Execution: e, ctx: ctx, record: newRecord(), pending: map[int64]*effect{}, finished: make(chan finished), turns: make(chan struct{}, MaxAtOnce),
	}
	// Effects that are still being carried out end before the execution does.
	defer x.effects.Wait()
	defer cancel()
	x.realm = img.New(x.host, limits)
	stop := context.AfterFunc(ctx, x.realm.Stop)
	defer stop()
	out, err := x.run()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out, err
}

// run starts the program and goes on until it ends or waits for long.
func (x *execution) run() (Outcome, error) {
	if err := x.reload(); err != nil {
		return Outcome{}, err
	}
	if f, err := x.begin(); f != nil || err != nil {
		return Outcome{Failure: f}, err
	}
	for {
		if f, err := x.settle(); f != nil || err != nil {
			return x.end(Outcome{Failure: f}, err)
		}
		if x.out != nil {
			return x.end(*x.out, nil)
		}
		if x.full() {
			return x.end(Outcome{Failure: &Failure{Code: CodeJournal, Message: fmt.Sprintf(
				"The script has caused more than the %d entries or %d MiB that its journal holds: use ctx.continueAsNew.", MaxEntries, MaxJournal>>20)}}, nil)
		}
		if err := x.launch(); err != nil {
			return Outcome{}, err
		}
		if len(x.record.order) > 0 {
			continue
		}
		if parked := x.parked(); parked != nil {
			return x.end(*parked, nil)
		}
		if err := x.wait(); err != nil {
			return Outcome{}, err
		}
	}
}

// begin evaluates the module and calls what it exports.
func (x *execution) begin() (*Failure, error) {
	err := x.realm.Module(Filename, x.Program.Code)
	if err == nil {
		err = x.realm.Call("__start", string(orNull(x.Input)), x.RunID)
	}
	return x.verdict(err)
}

// verdict sorts what a call of the realm led to.
func (x *execution) verdict(err error) (*Failure, error) {
	if err == nil || x.ctx.Err() != nil {
		return nil, x.ctx.Err()
	}
	if f := died(x.Program, err); f != nil {
		return f, nil
	}
	return nil, err
}

// end writes down what the program has shown and learned since the last append, unless the execution failed.
func (x *execution) end(out Outcome, err error) (Outcome, error) {
	if err == nil {
		err = x.flush()
	}
	if err != nil {
		return Outcome{}, err
	}
	return out, nil
}

// reload reads what others have appended.
func (x *execution) reload() error {
	entries, err := x.Journal.Load(x.ctx, x.record.entries)
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	x.record.add(entries...)
	return nil
}

// flush appends what is only in memory.
func (x *execution) flush(more ...Entry) error {
	entries := append(x.unwritten, more...)
	if len(entries) == 0 {
		return nil
	}
	list := make([]*Entry, len(entries))
	for i := range entries {
		list[i] = &entries[i]
	}
	total, err := x.Journal.Append(x.ctx, list...)
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	x.unwritten = nil
	if total != x.record.entries+len(entries) {
		// Somebody else has appended too, and the order of the journal is what counts.
		return x.reload()
	}
	x.record.add(entries...)
	return nil
}

func (x *execution) full() bool {
	return x.record.entries+len(x.unwritten) > MaxEntries || x.record.bytes > MaxJournal
}

// settle gives the program what its effects have led to, in the order of the journal, until there is nothing more or it has
// ended.
func (x *execution) settle() (*Failure, error) {
	for len(x.record.order) > 0 && x.out == nil {
		seq := x.record.order[0]
		e := x.pending[seq]
		if e == nil {
			return &Failure{Code: CodeDiverged, Message: "The script did not ask again for what its journal answers next: it depends on something that ctx does not record."}, nil
		}
		x.record.order = x.record.order[1:]
		delete(x.pending, seq)
		ok, value := answerOf(e, x.record.results[seq])
		f, err := x.verdict(x.realm.Call("__settle", fmt.Sprint(e.id), fmt.Sprint(ok), value))
		if f != nil || err != nil {
			return f, err
		}
	}
	return nil, nil
}

// answerOf is what the program gets for the end of an effect.
func answerOf(e *effect, end *Entry) (ok bool, value string) {
	switch end.Kind {
	case KindFired:
		return true, "null"
	case KindEvent:
		return true, string(orNull(end.Delivery))
	}
	if end.Status == Succeeded {
		return true, string(orNull(end.Output))
	}
	f := Failure{Code: "internal_error", Message: "The call failed."}
	if end.Error != nil {
		f = *end.Error
	}
	f.Tool, f.CallSeq = e.entry.Tool, end.CallSeq
	b, err := json.Marshal(f)
	if err != nil {
		return false, `{"code":"internal_error","message":"The call failed."}`
	}
	return false, string(b)
}

// wait blocks until an effect has ended, a short sleep is over, or somebody else has appended.
func (x *execution) wait() error {
	var timer <-chan time.Time
	if at, ok := x.soonest(); ok {
		timer = x.Clock.After(time.UnixMilli(at).Sub(x.Clock.Now()))
	}
	select {
	case <-x.ctx.Done():
		return context.Cause(x.ctx)
	case <-x.Journal.Changed():
		if err := x.reload(); err != nil {
			return err
		}
		return x.release()
	case <-timer:
		return x.fire()
	case f := <-x.finished:
		return x.take(f)
	}
}

// take appends the results of the effects that have ended by now.
func (x *execution) take(f finished) error {
	entries := []Entry{}
	for {
		if x.working--; f.err != nil {
			return f.err
		}
		entries = append(entries, f.entries...)
		select {
		case f = <-x.finished:
			continue
		default:
		}
		return x.flush(entries...)
	}
}

func orNull(v json.RawMessage) json.RawMessage {
	if len(v) == 0 {
		return json.RawMessage("null")
	}
	return v
}

// asFailure is a failure that the program sees, or an error that ends the execution.
func asFailure(err error) (*Failure, error) {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f, nil
	}
	return nil, err
}
