class Strings {
    // it's
    String a = """
        http://a.com "b"
        /* c \""" d
        // e""";  // f
    char g = '"';  /* ' */ String h = "i // \" j";  // k
    int l = 1 / 2; // m
}
