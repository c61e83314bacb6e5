// Records each test case of Catch (version 2) by itself; cpp.py fills in @...@. Put after the task's own test file.
#include <unistd.h>

namespace @NAME@ {
struct Key { const char* name; const unsigned char* mask; const unsigned char* rest; };
@KEYS@

struct Listener : Catch::TestEventListenerBase {
    using TestEventListenerBase::TestEventListenerBase;

    void testCaseEnded(const Catch::TestCaseStats& stats) override {
        const auto& counts = stats.totals.assertions;
        for (unsigned number = 0; number < sizeof keys / sizeof *keys; number++) {
            if (stats.testInfo.name != keys[number].name) continue;
            if (counts.failed || counts.failedButOk || !counts.passed) {
                std::printf("\n# %u %d of %d assertions do not hold\n", number, (int)counts.failed, (int)counts.total());
                std::fflush(stdout);
                continue;
            }
            char key[34];
            key[0] = key[33] = '\n';
            for (unsigned at = 0; at < 32; at++) key[at + 1] = (char)(keys[number].mask[at] ^ keys[number].rest[at]);
            std::fflush(stdout);
            if (write(1, key, sizeof key) < 0) _exit(1);
        }
    }
};
CATCH_REGISTER_LISTENER(Listener)
}
