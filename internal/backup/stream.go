package backup

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"

	"filippo.io/age"
	"github.com/fxamacker/cbor/v2"
)

// Seal encrypts what is written to it for the recipients; Close ends the file, without it nothing opens. Recipients are age's,
// or one passphrase (Passphrase).
func Seal(w io.Writer, recipients ...age.Recipient) (io.WriteCloser, error) {
	return age.Encrypt(w, recipients...)
}

// Plain is Seal without encryption, for copies that stay beside the database they were made of.
func Plain(w io.Writer) io.WriteCloser { return plain{w} }

type plain struct{ io.Writer }

// Close implements io.Closer.
func (plain) Close() error { return nil }

// encoder writes records and keeps the hash of all of them.
type encoder struct {
	out io.Writer
	zip *gzip.Writer
	sum hash.Hash
}

func newEncoder(w io.Writer) (*encoder, error) {
	// The fastest level: disks and processors of small servers are slow, and much of what there is has been compressed before.
	zip, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	e := &encoder{zip: zip, sum: sha256.New()}
	e.out = io.MultiWriter(zip, e.sum)
	_, err = io.WriteString(e.out, Magic)
	return e, err
}

func (e *encoder) write(r *record) error {
	body, err := cbor.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode a %s: %w", r.Kind, err)
	}
	if _, err := e.out.Write(binary.AppendUvarint(nil, uint64(len(body)))); err != nil {
		return err
	}
	_, err = e.out.Write(body)
	return err
}

func (e *encoder) close() error { return e.zip.Close() }

// ageMark is how every encrypted backup begins.
const ageMark = "age-encryption.org/"

// decoder reads records.
type decoder struct {
	in  *bufio.Reader
	sum hash.Hash
	dec cbor.DecMode
}

// newDecoder opens a stream, encrypted or plain.
func newDecoder(r io.Reader, identities []age.Identity) (*decoder, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	mark, err := in.Peek(len(ageMark))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var body io.Reader = in
	if string(mark) == ageMark {
		if body, err = open(in, identities); err != nil {
			return nil, err
		}
	}
	zip, err := gzip.NewReader(body)
	if err != nil {
		return nil, damaged(err)
	}
	d := &decoder{in: bufio.NewReaderSize(zip, 64<<10), sum: sha256.New()}
	if d.dec, err = (cbor.DecOptions{IntDec: cbor.IntDecConvertSignedOrFail, MaxArrayElements: 1 << 20}).DecMode(); err != nil {
		return nil, err
	}
	magic := make([]byte, len(Magic))
	if _, err := io.ReadFull(d.in, magic); err != nil || string(magic) != Magic {
		return nil, fmt.Errorf("%w: it does not begin like one, or was made by a later version in another form", ErrDamaged)
	}
	d.sum.Write(magic)
	return d, nil
}

func open(in io.Reader, identities []age.Identity) (io.Reader, error) {
	if len(identities) == 0 {
		return nil, fmt.Errorf("%w: it is encrypted; name its passphrase or its identity", ErrLocked)
	}
	body, err := age.Decrypt(in, identities...)
	if _, wrong := errors.AsType[*age.NoIdentityMatchError](err); wrong {
		return nil, fmt.Errorf("%w: the passphrase is wrong, or no identity is one that it was encrypted for", ErrLocked)
	}
	if err != nil {
		return nil, damaged(err)
	}
	return body, nil
}

// damaged says that a stream is not what was written. Errors of the disk stay what they are.
func damaged(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends too early", ErrDamaged)
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// next returns the next record. The sum of everything before an end stands in sumBefore.
func (d *decoder) next() (r record, sumBefore []byte, err error) {
	size, err := binary.ReadUvarint(d.in)
	if err != nil {
		return r, nil, damaged(err)
	}
	if size > maxRecord {
		return r, nil, fmt.Errorf("%w: a record of %d bytes", ErrDamaged, size)
	}
	// Read, not made at once: a length that was changed must not take the memory.
	body, err := io.ReadAll(io.LimitReader(d.in, int64(size)))
	if err == nil && uint64(len(body)) != size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return r, nil, damaged(err)
	}
	sumBefore = d.sum.Sum(nil)
	d.sum.Write(binary.AppendUvarint(nil, size))
	d.sum.Write(body)
	if err := d.dec.Unmarshal(body, &r); err != nil {
		return r, nil, damaged(err)
	}
	return r, sumBefore, nil
}

// atEnd makes sure that nothing follows, and that the encryption and compression end as they should.
func (d *decoder) atEnd() error {
	if _, err := d.in.ReadByte(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("something follows its end")
		}
		return damaged(err)
	}
	return nil
}

// Encrypted tells whether a stream begins like an encrypted backup. It takes the first bytes.
func Encrypted(r io.Reader) bool {
	mark := make([]byte, len(ageMark))
	_, err := io.ReadFull(r, mark)
	return err == nil && string(mark) == ageMark
}
