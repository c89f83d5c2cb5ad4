// What store and server say to each other, as tests write it: "06 <1> <2>'/a'" is a byte 06, the numbers 1 and 2 of eight bytes
// each, little-endian, and the text /a.
#pragma once

#include <array>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/harness/words/wire.hpp"

namespace dist::harness {

/// A number of eight bytes.
inline std::string number(std::uint64_t value) {
    std::string bytes;
    for (int i = 0; i < 8; ++i) {
        bytes += static_cast<char>(value >> (8 * i));
    }
    return bytes;
}

/// A text as it stands on the wire.
inline std::string sized(const std::string& value) {
    return number(value.size()) + value;
}

inline std::string bytes(std::string_view written) {
    std::string all;
    for (std::size_t at = 0; at < written.size();) {
        const char c = written[at];
        if (c == ' ') {
            ++at;
        } else if (c == '\'' || c == '<') {
            const std::size_t end = written.find(c == '<' ? '>' : '\'', at + 1);
            const std::string inside(written.substr(at + 1, end - at - 1));
            all += c == '<' ? number(static_cast<std::uint64_t>(std::stoll(inside))) : inside;
            at = end + 1;
        } else {
            all += static_cast<char>(std::stoi(std::string(written.substr(at, 2)), nullptr, 16));
            at += 2;
        }
    }
    return all;
}

/// A connection with a server, and nothing else.
class RawClient : public Wire {
  public:
    using Wire::Wire;

    void asks(std::string_view request) const { says(bytes(request)); }

    /// Whether the reply to the request is this.
    [[nodiscard]] Comparison answers(const std::string& request, const std::string& reply) const {
        asks(request);
        const std::string expected = bytes(reply);
        Comparison result = same_on_wire(hears(expected.size()), expected);
        result.text = "the reply to " + request + ": " + result.text;
        return result;
    }
};

/// One that has said that it is of PyTorch 2.x.
inline RawClient greeted(int port) {
    RawClient client(port);
    const Comparison greeting = client.answers("00 ce f7 85 3c 0d 20 4b 00 00", "20 4b 00 00");
    if (!greeting) {
        throw std::runtime_error("a client of PyTorch 2.x: " + greeting.text);
    }
    return client;
}

/// Addresses of this machine, beside 127.0.0.1: of IPv6 as well, where it has that.
inline std::vector<std::string> other_addresses() {
    std::ifstream six("/proc/net/if_inet6");
    return six.peek() == EOF ? std::vector<std::string>{"127.0.0.2"}
                             : std::vector<std::string>{"127.0.0.2", "::1"};
}

struct Recorded {
    std::string call;
    std::string request;
    std::string reply;  // empty: none
};

/// What PyTorch's own clients sent to PyTorch's own server, and what it answered: recorded once, with 1.13.1 and 2.15.0.
/// They differ in the first byte, and in what the older one does not send. Calls that send two requests stand there as two.
/// The process's number, 19232, is what it pings with.
inline std::vector<Recorded> recorded(bool of_pytorch_2) {
    const std::vector<std::array<std::string, 5>> calls = {
        {"validate and ping", "", "00", "ce f7 85 3c 0d 20 4b 00 00", "20 4b 00 00"},
        {"set a", "00", "01", "<2>'/a' <3>'xyz'", ""},
        {"get a: wait", "05", "06", "<1> <2>'/a'", "00"},
        {"get a", "02", "03", "<2>'/a'", "<3>'xyz'"},
        {"add n 5", "03", "04", "<2>'/n' <5>", "<5>"},
        {"add n 2", "03", "04", "<2>'/n' <2>", "<7>"},
        {"get n: wait", "05", "06", "<1> <2>'/n'", "00"},
        {"get n", "02", "03", "<2>'/n'", "<1>'7'"},
        {"compare_set missing m from old", "01", "02", "<2>'/m' <3>'old' <3>'new'", "<3>'old'"},
        {"compare_set missing m from nothing", "01", "02", "<2>'/m' <0> <3>'new'", "<3>'new'"},
        {"compare_set m from a wrong value", "01", "02", "<2>'/m' <3>'zzz' <1>'q'", "<3>'new'"},
        {"compare_set m from its value", "01", "02", "<2>'/m' <3>'new' <1>'q'", "<1>'q'"},
        {"check a, nokey", "04", "05", "<2> <2>'/a' <6>'/nokey'", "01"},
        {"check a", "04", "05", "<1> <2>'/a'", "00"},
        {"wait a, n", "05", "06", "<2> <2>'/a' <2>'/n'", "00"},
        {"wait nokey, until its client gives up", "05", "06", "<1> <6>'/nokey'", ""},
        {"cancel_wait", "", "0c", "", "01"},
        {"get a: wait", "05", "06", "<1> <2>'/a'", "00"},
        {"get a", "02", "03", "<2>'/a'", "<3>'xyz'"},
        {"num_keys", "06", "07", "", "<3>"},
        {"erase m", "08", "08", "<2>'/m'", "<1>"},
        {"erase m again", "08", "08", "<2>'/m'", "<0>"},
    };
    std::vector<Recorded> all;
    for (const auto& [call, first_of_1, first_of_2, rest, reply] : calls) {
        if (const std::string& first = of_pytorch_2 ? first_of_2 : first_of_1; !first.empty()) {
            all.push_back({call, first + " " + rest, reply});
        }
    }
    return all;
}
inline const std::vector<Recorded> kPyTorch1 = recorded(false);
inline const std::vector<Recorded> kPyTorch2 = recorded(true);

/// Goes on on the same connection, with what PyTorch 2.x alone asks for. (list_keys has a test of its own: its order is any.)
inline const std::vector<Recorded> kPyTorch2Alone = {
    {"append to a", "09 <2>'/a' <3>'123'", ""},
    {"append to f, which is missing", "09 <2>'/f' <1>'1'", ""},
    {"multi_get a, f: wait", "06 <2> <2>'/a' <2>'/f'", "00"},
    {"multi_get a, f", "0a <2> <2>'/a' <2>'/f'", "<6>'xyz123' <1>'1'"},
    {"multi_set p, q", "0b <2> <2>'/p' <1>'1' <2>'/q' <2>'22'", ""},
    {"queue_push Q", "0e <2>'/Q' <5>'hello'", ""},
    {"queue_length Q", "10 <2>'/Q'", "<1>"},
    {"queue_pop Q: wait", "06 <1> <2>'/Q'", "00"},
    {"queue_pop Q", "0f <2>'/Q'", "<1> <5>'hello'"},
    {"queue_pop Q, which is empty", "0f <2>'/Q'", "<0>"},
    {"barrier B of 1", "12 <2>'/B' <1>", "00"},
    {"barrier B2 of 2, until its client gives up", "12 <3>'/B2' <2>", ""},
    {"cancel_wait", "0c", "01"},
    {"get a: wait", "06 <1> <2>'/a'", "00"},
    {"get a", "03 <2>'/a'", "<6>'xyz123'"},
};

}  // namespace dist::harness
