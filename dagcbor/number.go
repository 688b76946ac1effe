package dagcbor

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// maxSafe is 2^53−1, the largest integer of which JavaScript's number type holds every smaller one exactly.
const maxSafe = 1<<53 - 1

// collapse turns a float that is an integer within ±(2^53−1) into that integer.
func collapse(f float64) any {
	if f == math.Trunc(f) && math.Abs(f) <= maxSafe {
		return int64(f)
	}
	return f
}

func finite(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("the number %v has no encoding", f)
	}
	return collapse(f), nil
}

// safeInt turns an integer beyond ±(2^53−1) into the float that a JavaScript peer would have.
func safeInt(i int64) any {
	if i > maxSafe || i < -maxSafe {
		return float64(i)
	}
	return i
}

func safeUint(u uint64) any {
	if u > maxSafe {
		return float64(u)
	}
	return int64(u)
}

// fromNumber reads a JSON number as JavaScript would.
func fromNumber(n json.Number) (any, error) {
	text := string(n)
	if text == "" || (text[0] != '-' && (text[0] < '0' || text[0] > '9')) || !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("%q is not a JSON number", text)
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return safeInt(i), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("the JSON number %q is out of range", text)
	}
	return finite(f)
}
