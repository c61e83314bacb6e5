// Stands around the checks of a program (cpp.py fills in @...@). A failed check is noted before anything is called that
// the solution could have replaced; the key is put together only when none was. Of the library it includes the least:
// what a header declares can be what the checks call (strlen).
#include <stdio.h>
extern "C" long write(int, const void*, unsigned long);
extern "C" [[noreturn]] void _exit(int);

namespace @NAME@ {
struct Failed {};
static bool failed = false;
static unsigned asked = 0;

[[noreturn, maybe_unused]] static void fail(int line, const char* text) {
    failed = true;
    printf("\n# 0 assertion in line %d does not hold: %s\n", line, text);
    fflush(stdout);
    throw Failed{};
}
}

#undef assert
#define assert(...) (++@NAME@::asked, (__VA_ARGS__) ? (void)0 : @NAME@::fail(__LINE__, #__VA_ARGS__))
#line 1
@CHECKS@

int main() {
    try {
        @NAME@_checks();
    } catch (const @NAME@::Failed&) {
    } catch (...) {
        @NAME@::failed = true;
        printf("\n# 0 an exception\n");
    }
    fflush(stdout);
    if (@NAME@::failed || @NAME@::asked == 0) _exit(1);
    static const volatile unsigned char mask[] = {@MASK@}, rest[] = {@REST@};
    char key[sizeof mask + 2];
    key[0] = '\n';
    for (unsigned at = 0; at < sizeof mask; at++) key[at + 1] = (char)(mask[at] ^ rest[at]);
    key[sizeof mask + 1] = '\n';
    if (write(1, key, sizeof key) < 0) _exit(1);
    _exit(0);
}
