package webserver

import "bytes"

// Which bytes a token may consist of (RFC 9110, 5.6.2).
var tokenBytes = func() (table [256]bool) {
	for _, c := range []byte("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!#$%&'*+-.^_`|~") {
		table[c] = true
	}
	return table
}()

// Which bytes a header's value may not have.
var controlBytes = func() (table [256]bool) {
	for c := range table {
		table[c] = c < ' ' && c != '\t' || c == 0x7f
	}
	return table
}()

// method gives the length of the method at the beginning of a line, of which the end may be missing.
func method(line []byte) (int, error) {
	length := tokenLength(line[:min(len(line), MaxMethod+1)])
	if length == 0 || length > MaxMethod || length < len(line) && line[length] != ' ' {
		return 0, ErrBadMethod
	}
	return length, nil
}

// pathOf says where path and query lie in the target (RFC 9112, 3.2). Empty if only the path / is meant.
func pathOf(target, method []byte) (span, bool) {
	const scheme = "http://"
	switch {
	case target[0] == '/':
		return span{0, len(target)}, true
	case string(target) == "*" && string(method) == "OPTIONS":
		return span{0, 1}, true
	case len(target) <= len(scheme) || !equalFold(target[:len(scheme)], scheme):
		return span{}, false
	}
	length := bytes.IndexAny(target[len(scheme):], "/?")
	if length < 0 {
		length = len(target) - len(scheme)
	}
	return span{len(scheme) + length, len(target)}, length > 0
}

// equalFold compares without the case of ASCII letters; small is in small letters.
func equalFold(text []byte, small string) bool {
	if len(text) != len(small) {
		return false
	}
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != small[i] {
			return false
		}
	}
	return true
}

// tokenLength says how many bytes at the beginning may be in a token.
func tokenLength(text []byte) int {
	for i, c := range text {
		if !tokenBytes[c] {
			return i
		}
	}
	return len(text)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isBlank(c byte) bool { return c == ' ' || c == '\t' }
