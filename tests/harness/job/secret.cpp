// The secret is read, and its file removed, before any code under test can run: it finds no file.
#include "tests/harness/job/secret.hpp"

#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "course/protocol/protocol.hpp"
#include "tests/harness/job/early.hpp"

namespace dist::harness {
namespace {

constexpr std::size_t kLongestPath = 4096;
constinit Secret the_secret;

SHARDLINGS_BEFORE_EVERYTHING void read_first(int /*argc*/, char** /*argv*/, char** environment) {
    if (const char* const folder = early_value(environment, kEnvFolder)) {
        read_secret(folder, true);
    }
}

SHARDLINGS_EARLY const Early kReadSecret = &read_first;

}  // namespace

SHARDLINGS_BEFORE_EVERYTHING void read_secret(const char* folder, bool remove) {
    char path[kLongestPath] = "";
    constexpr char kName[] = "/secret";
    const std::size_t length = std::strlen(folder);
    if (length + sizeof kName > sizeof path) {
        return;
    }
    std::memcpy(path, folder, length);
    std::memcpy(path + length, kName, sizeof kName);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return;
    }
    if (read(file, &the_secret, sizeof the_secret) != sizeof the_secret) {
        the_secret = Secret{};
    }
    close(file);
    if (remove) {
        unlink(path);
    }
}

const Secret& secret() {
    return the_secret;
}

Seal take_seal(int rank) {
    const Seal seal(the_secret.records, rank);
    explicit_bzero(the_secret.records.data(), sizeof the_secret.records);
    return seal;
}

}  // namespace dist::harness
