// The calls of the recorded traffic, and what they have to return.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "exercises/04_groups_and_rendezvous/tcp_store.hpp"
#include "tests/04_groups_and_rendezvous/recorded_traffic.hpp"
#include "tests/04_groups_and_rendezvous/scripted_server.hpp"

namespace dist::harness {

inline constexpr const char* kHost = "127.0.0.1";

/// A store that waits for longer than a right answer takes, however busy the machine is.
inline TcpStore patient(int port) {
    return {kHost, port, kPatience};
}

/// The text of what `call` throws, which has to be such an exception: see names().
template <class Exception>
std::string text_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const NotImplemented&) {
        throw;
    } catch (const Exception& error) {
        return error.what();
    } catch (const std::exception& other) {
        return std::string("another exception: ") + other.what();
    }
    return "";
}

/// Whether a text of text_of() has all these words.
inline Comparison names(const std::string& text, const std::vector<std::string>& words) {
    if (text.empty()) {
        return {false, "it returned as if all were well"};
    }
    for (const std::string& word : words) {
        if (text.starts_with("another exception") || text.find(word) == std::string::npos) {
            return {false, "the text has to name " + word + ", and is: " + text};
        }
    }
    return {};
}

inline std::vector<Recorded> recorded_calls() {
    return {kPyTorch2.begin() + 1, kPyTorch2.end()};
}

/// Makes them, at a server of which nothing was asked yet. Returns what came out otherwise than at PyTorch's; "" if nothing did.
inline std::string makes_recorded_calls(int port) {
    std::ostringstream wrong;
    const auto is = [&](const char* call, const auto& got, const auto& expected) {
        if (got != expected) {
            wrong << call << " returned " << got << " in the place of " << expected << "; ";
        }
    };
    const auto yes = [](bool answer) { return answer ? "yes" : "no"; };
    try {
        TcpStore store("127.0.0.1", port, kPatience);
        store.set("a", "xyz");
        is("get a", store.get("a"), std::string("xyz"));
        is("add n 5", store.add("n", 5), std::int64_t{5});
        is("add n 2", store.add("n", 2), std::int64_t{7});
        is("get n", store.get("n"), std::string("7"));
        is("compare_set m, which is missing, from old", store.compare_set("m", "old", "new"),
           std::string("old"));
        is("compare_set m, which is missing, from nothing", store.compare_set("m", "", "new"),
           std::string("new"));
        is("compare_set m from a wrong value", store.compare_set("m", "zzz", "q"),
           std::string("new"));
        is("compare_set m from its value", store.compare_set("m", "new", "q"), std::string("q"));
        is("check a, nokey", std::string(yes(store.check({"a", "nokey"}))), std::string("no"));
        is("check a", std::string(yes(store.check({"a"}))), std::string("yes"));
        store.wait({"a", "n"}, kPatience);
        const std::string text =
            text_of<Timeout>([&] { store.wait({"nokey"}, std::chrono::milliseconds(100)); });
        is("wait nokey, which is missing: whether its Timeout names the key",
           std::string(yes(text.find("nokey") != std::string::npos)), std::string("yes"));
        is("get a", store.get("a"), std::string("xyz"));
        is("num_keys", store.num_keys(), std::int64_t{3});
        is("erase m", std::string(yes(store.erase("m"))), std::string("yes"));
        is("erase m again", std::string(yes(store.erase("m"))), std::string("no"));
    } catch (const NotImplemented&) {
        throw;
    } catch (const std::exception& error) {
        wrong << "then it threw: " << error.what();
    }
    return wrong.str();
}

}  // namespace dist::harness
