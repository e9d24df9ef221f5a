package bakeoff;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The HTTP/1.1 request parser of one connection: bytes in by append, requests out by nextRequest. Structure, limits and
 * errors are those of the Rust and Go parsers beside this one.
 *
 * <p>Whatever the pieces are that the bytes come in, the requests and the error are the same. Each line is read once,
 * when it is whole; only the method is looked at before. Several requests may be in the buffer (pipelining).
 */
public final class Parser {
    static final int MAX_METHOD = 32;
    static final int MAX_REQUEST_LINE = 8 * 1024;
    static final int MAX_HEAD = 16 * 1024;
    static final int MAX_HEADERS = 64;
    static final int MAX_BODY = 1024 * 1024;

    private static final int FIRST_CAPACITY = 256;
    /** An empty buffer that has grown beyond this is given back. */
    private static final int KEPT_CAPACITY = 32 * 1024;

    private static final boolean[] TOKEN = tokenBytes();

    private enum Stage {
        REQUEST_LINE,
        HEADERS,
        BODY
    }

    private byte[] buffer = new byte[FIRST_CAPACITY];
    private int size;
    /** Where the request being read begins in the buffer. */
    private int start;
    /** Where the line being read begins, counted from start. */
    private int line;
    /** How far the line's end has been looked for, counted from start. */
    private int scanned;

    private Stage stage = Stage.REQUEST_LINE;
    /** The request before this one had a Content-Length. */
    private boolean afterBody;

    private ParseException failed;

    // What is known of the request being read.
    private String method;
    private String path;
    private String query;
    private boolean oldVersion;
    private boolean close;
    private boolean host;
    private boolean transferEncoding;
    /** -1 without a Content-Length. */
    private int contentLength;

    private List<Request.Header> headers = new ArrayList<>();

    /** Takes the next bytes of the connection, as many as there are. */
    public void append(byte[] data, int from, int count) {
        if (start == size) {
            size = 0;
            if (buffer.length > KEPT_CAPACITY) {
                buffer = new byte[FIRST_CAPACITY];
            }
        } else if (start > 0) {
            System.arraycopy(buffer, start, buffer, 0, size - start);
            size -= start;
        }
        start = 0;
        if (buffer.length - size < count) {
            buffer = Arrays.copyOf(buffer, Math.max(size + count, 2 * buffer.length));
        }
        System.arraycopy(data, from, buffer, size, count);
        size += count;
    }

    /** The next request if it is whole, null if bytes are missing. After an error there is nothing but that error. */
    public Request nextRequest() throws ParseException {
        if (failed != null) {
            throw failed;
        }
        try {
            return advance() ? take() : null;
        } catch (ParseException error) {
            failed = error;
            throw error;
        }
    }

    /** The connection has ended: what is wrong with that? Null between two requests. Ask after nextRequest gave null. */
    public String finish() {
        if (failed != null) {
            return failed.getMessage();
        }
        return switch (stage) {
            case BODY -> "body_shorter_than_content_length";
            case HEADERS -> "truncated_head";
            case REQUEST_LINE -> start == size ? null : "truncated_head";
        };
    }

    /** Reads on. True when the request is whole. */
    private boolean advance() throws ParseException {
        while (stage != Stage.BODY) {
            int end = start + scanned;
            while (end < size && buffer[end] != '\n') {
                end++;
            }
            if (end == size) {
                scanned = size - start;
                checkUnfinishedLine();
                return false;
            }
            int begin = start + line;
            end++;
            line = end - start;
            scanned = line;
            if (stage == Stage.HEADERS) {
                headerLine(begin, end);
            } else if (end - begin == 2 && buffer[begin] == '\r') {
                // Empty lines before a request are passed over (RFC 9112, 2.2).
                start = end;
                line = 0;
                scanned = 0;
            } else {
                requestLine(begin, end);
            }
        }
        return size - start >= line + Math.max(contentLength, 0);
    }

    /** Bytes without a line ending: have they gone wrong already? */
    private void checkUnfinishedLine() throws ParseException {
        if (stage == Stage.HEADERS) {
            if (size - start > MAX_HEAD) {
                throw new ParseException("head_too_large");
            }
            return;
        }
        // A CR at the end may belong to a line ending of which the LF is still to come.
        int known = size > start && buffer[size - 1] == '\r' ? size - 1 : size;
        if (known > start) {
            methodEnd(start, known);
        }
        if (known - start > MAX_REQUEST_LINE) {
            throw new ParseException("request_line_too_long");
        }
    }

    /** What follows a body and is no request at all is taken for more of that body. */
    private ParseException noRequest(String name) {
        return new ParseException(afterBody ? "body_longer_than_content_length" : name);
    }

    /** The end of the method at the beginning of a line, of which the end may be missing. */
    private int methodEnd(int begin, int end) throws ParseException {
        int at = begin;
        while (at < end && buffer[at] != ' ') {
            if (at - begin == MAX_METHOD || !TOKEN[buffer[at] & 0xff]) {
                throw noRequest("bad_method");
            }
            at++;
        }
        if (at == begin) {
            throw noRequest("bad_method");
        }
        return at;
    }

    private void requestLine(int begin, int end) throws ParseException {
        boolean ended = end - begin >= 2 && buffer[end - 2] == '\r';
        int to = ended ? end - 2 : end - 1;
        int methodEnd = methodEnd(begin, to);
        if (to - begin > MAX_REQUEST_LINE) {
            throw new ParseException("request_line_too_long");
        }
        if (!ended) {
            throw new ParseException("bad_line_ending");
        }
        int targetEnd = find(' ', methodEnd + 1, to);
        if (targetEnd < 0 || targetEnd == methodEnd + 1 || find(' ', targetEnd + 1, to) >= 0) {
            throw noRequest("malformed_request_line");
        }
        for (int i = methodEnd + 1; i < targetEnd; i++) {
            if (buffer[i] <= ' ' || buffer[i] == 0x7f) {
                throw new ParseException("bad_target");
            }
        }
        method = text(begin, methodEnd);
        target(text(methodEnd + 1, targetEnd));
        version(text(targetEnd + 1, to));
        close = false;
        host = false;
        transferEncoding = false;
        contentLength = -1;
        headers = new ArrayList<>(4);
        stage = Stage.HEADERS;
    }

    /** Finds path and query in the target (RFC 9112, 3.2). */
    private void target(String target) throws ParseException {
        String rest = target;
        if (!target.startsWith("/") && !(target.equals("*") && method.equals("OPTIONS"))) {
            String scheme = "http://";
            if (!target.regionMatches(true, 0, scheme, 0, scheme.length())) {
                throw new ParseException("bad_target");
            }
            int at = scheme.length();
            while (at < target.length() && target.charAt(at) != '/' && target.charAt(at) != '?') {
                at++;
            }
            if (at == scheme.length()) {
                throw new ParseException("bad_target");
            }
            rest = target.substring(at);
        }
        int mark = rest.indexOf('?');
        path = mark < 0 ? rest : rest.substring(0, mark);
        query = mark < 0 ? "" : rest.substring(mark + 1);
        if (path.isEmpty()) {
            path = "/";
        }
    }

    private void version(String version) throws ParseException {
        switch (version) {
            case "HTTP/1.1" -> oldVersion = false;
            case "HTTP/1.0" -> oldVersion = true;
            default -> {
                boolean known = version.length() == 8
                        && version.startsWith("HTTP/")
                        && isDigit(version.charAt(5))
                        && version.charAt(6) == '.'
                        && isDigit(version.charAt(7));
                throw new ParseException(known ? "unsupported_version" : "bad_version");
            }
        }
    }

    private void headerLine(int begin, int end) throws ParseException {
        if (end - start > MAX_HEAD) {
            throw new ParseException("head_too_large");
        }
        if (end - begin < 2 || buffer[end - 2] != '\r') {
            throw new ParseException("bad_line_ending");
        }
        int to = end - 2;
        if (begin == to) {
            endOfHead();
            return;
        }
        if (isBlank(buffer[begin])) {
            throw new ParseException("folded_header");
        }
        if (headers.size() == MAX_HEADERS) {
            throw new ParseException("too_many_headers");
        }
        int colon = find(':', begin, to);
        if (colon < 0) {
            throw new ParseException("header_without_colon");
        }
        if (colon == begin) {
            throw new ParseException("bad_header_name");
        }
        for (int i = begin; i < colon; i++) {
            if (!TOKEN[buffer[i] & 0xff]) {
                throw new ParseException("bad_header_name");
            }
        }
        for (int i = colon + 1; i < to; i++) {
            int value = buffer[i] & 0xff;
            if (value < ' ' && value != '\t' || value == 0x7f) {
                throw new ParseException("bad_header_value");
            }
        }
        int from = colon + 1;
        while (from < to && isBlank(buffer[from])) {
            from++;
        }
        while (from < to && isBlank(buffer[to - 1])) {
            to--;
        }
        Request.Header header = new Request.Header(text(begin, colon), text(from, to));
        knownHeader(header.name(), header.value());
        headers.add(header);
    }

    /** Notes the headers that matter for where a request ends and what happens after it. */
    private void knownHeader(String name, String value) throws ParseException {
        // The length tells nearly all names apart before they are compared.
        switch (name.length()) {
            case 4 -> {
                if (name.equalsIgnoreCase("host")) {
                    if (host) {
                        throw new ParseException("duplicate_host");
                    }
                    host = true;
                }
            }
            case 10 -> {
                if (name.equalsIgnoreCase("connection")) {
                    for (String option : value.split(",")) {
                        close |= option.trim().equalsIgnoreCase("close");
                    }
                }
            }
            case 14 -> {
                if (name.equalsIgnoreCase("content-length")) {
                    if (contentLength >= 0) {
                        throw new ParseException("duplicate_content_length");
                    }
                    contentLength = length(value);
                }
            }
            case 17 -> transferEncoding |= name.equalsIgnoreCase("transfer-encoding");
            default -> {}
        }
    }

    private static int length(String value) throws ParseException {
        if (value.isEmpty() || !value.chars().allMatch(Parser::isDigit)) {
            throw new ParseException("bad_content_length");
        }
        int length = 0;
        for (int i = 0; i < value.length(); i++) {
            length = length * 10 + value.charAt(i) - '0';
            if (length > MAX_BODY) {
                throw new ParseException("body_too_large");
            }
        }
        return length;
    }

    private void endOfHead() throws ParseException {
        if (transferEncoding) {
            throw new ParseException(
                    contentLength >= 0 ? "content_length_with_transfer_encoding" : "unsupported_transfer_encoding");
        }
        if (!oldVersion && !host) {
            throw new ParseException("missing_host");
        }
        stage = Stage.BODY;
    }

    /** Gives the whole request away and makes ready for the next. */
    private Request take() {
        int bodyStart = start + line;
        start = bodyStart + Math.max(contentLength, 0);
        line = 0;
        scanned = 0;
        stage = Stage.REQUEST_LINE;
        afterBody = contentLength >= 0;
        byte[] body = Arrays.copyOfRange(buffer, bodyStart, start);
        return new Request(method, path, query, oldVersion, !oldVersion && !close, headers, body);
    }

    private int find(char wanted, int from, int to) {
        for (int i = from; i < to; i++) {
            if (buffer[i] == wanted) {
                return i;
            }
        }
        return -1;
    }

    private String text(int from, int to) {
        return new String(buffer, from, to - from, ISO_8859_1);
    }

    private static boolean isDigit(int character) {
        return '0' <= character && character <= '9';
    }

    private static boolean isBlank(byte character) {
        return character == ' ' || character == '\t';
    }

    /** Which bytes a token may consist of (RFC 9110, 5.6.2). */
    private static boolean[] tokenBytes() {
        boolean[] table = new boolean[256];
        String marks = "!#$%&'*+-.^_`|~";
        for (char c = 0; c < 128; c++) {
            table[c] = isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || marks.indexOf(c) >= 0;
        }
        return table;
    }
}
