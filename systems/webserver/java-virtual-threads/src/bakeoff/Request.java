package bakeoff;

import java.util.List;

/** A whole request. Bytes of header values are the characters of the same number. */
public record Request(
        String method,
        String path,
        String query,
        boolean oldVersion,
        boolean keepAlive,
        List<Header> headers,
        byte[] body) {

    /** A header, the value without the white space around it. */
    public record Header(String name, String value) {}
}
