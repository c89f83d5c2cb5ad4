// Clients that go away, are slow, send too much, or speak another language. Each function is the body of a TEST_CASE.
#pragma once

#include <deque>
#include <string>
#include <sys/socket.h>

#include "exercises/04_groups_and_rendezvous/tcp_store_server.hpp"
#include "tests/04_groups_and_rendezvous/open_things.hpp"
#include "tests/04_groups_and_rendezvous/server_talk.hpp"
#include "tests/04_groups_and_rendezvous/tcp_store_limits.hpp"

namespace dist::harness {

inline void clients_go_away() {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        RawClient other = greeted(server.port());
        const auto before = open_descriptors();
        for (const std::string last :
             {"", "01 <2>'/k' <3>'ne'", "06 <1> <2>'/k'", "12 <2>'/k' <2>", "05", "03 <2>'/n'"}) {
            for (const bool resets : {false, true}) {
                RawClient client = greeted(server.port());
                client.sends(bytes(last));
                REQUIRE(other.answers("07", "<0>"));
                if (resets) {
                    const linger at_once = {.l_onoff = 1, .l_linger = 0};
                    setsockopt(
                        client.socket().descriptor(), SOL_SOCKET, SO_LINGER, &at_once,
                        sizeof at_once
                    );
                }
            }
            INFO("clients went away after " << (last.empty() ? "the greeting" : last));
            REQUIRE(becomes_true([&] { return open_descriptors() == before; }));
        }
        {
            RawClient client = greeted(server.port());
            client.sends("\1" + text("/large") + text(std::string(std::size_t{8} << 20, 'v')));
            for (int i = 0; i < 4; ++i) {
                client.sends("\3" + text("/large"));
            }
            client.reads(1);
            shutdown(client.socket().descriptor(), SHUT_WR);
        }
        const CrashMeans crash("as if the server had written to a client that has gone: SIGPIPE");
        INFO("a client went away that had not read what it asked for");
        REQUIRE(becomes_true([&] { return open_descriptors() == before; }));
        REQUIRE(other.answers("08 <6>'/large'", "<1>"));
        other.sends(bytes("12 <2>'/k' <2>"));
        INFO("two who have gone had come to the barrier /k of 2");
        CHECK(other.answers("0c", "01"));
        CHECK(other.answers("07", "<0>"));
    });
}

inline void sends_too_much() {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        for (const Sent& one : too_much()) {
            RawClient client = greeted(server.port());
            client.sends(one.bytes);
            INFO(one.what);
            REQUIRE(client.is_disconnected());
            REQUIRE(serves_others(server.port()));
        }
        RawClient client = greeted(server.port());
        const std::string key = text(std::string(TcpStoreServer::kMaxKey, 'k'));
        const std::string value = text(std::string(TcpStoreServer::kMaxValue, 'v'));
        client.sends("\1" + key + value + "\3" + key);
        INFO("the longest key, and the longest value");
        CHECK((client.reads(value.size()) == value));
        client.sends("\x09" + key + text("v") + "\3" + key);
        INFO("the longest value, to which one byte is appended: that is no long request");
        CHECK(client.reads(value.size() + 1).size() == value.size() + 1);
        std::string keys = number(TcpStoreServer::kMaxKeys);
        for (std::size_t i = 0; i < TcpStoreServer::kMaxKeys; ++i) {
            keys += text("");
        }
        client.sends("\5" + keys);
        INFO("the longest list");
        CHECK(same_on_wire(client.reads(1), "\1"));
        CHECK(in_step(client));
    });
}

inline void speaks_another_language() {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        for (const Sent& one : another_greeting()) {
            RawClient client(server.port());
            client.sends(one.bytes);
            INFO("a client begins with " << one.what);
            CHECK(client.is_disconnected());
            CHECK(serves_others(server.port()));
        }
        for (const Sent& one : another_language()) {
            RawClient client = greeted(server.port());
            client.sends(one.bytes);
            INFO("a client of PyTorch 2.x sends " << one.what);
            CHECK(client.is_disconnected());
            CHECK(serves_others(server.port()));
        }
    });
}

inline void adds_to_no_number() {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        RawClient client = greeted(server.port());
        REQUIRE(client.answers("04 <2>'/n' <-7>", "<-7>"));
        REQUIRE(client.answers("03 <2>'/n'", "<2>'-7'"));
        REQUIRE(client.answers("04 <2>'/n' <9223372036854775807>", "<9223372036854775800>"));
        REQUIRE(client.answers("04 <2>'/n' <7>", "<9223372036854775807>"));
        CHECK(client.answers("04 <4>'/low' <-9223372036854775808>", "<-9223372036854775808>"));
        CHECK(client.answers("04 <4>'/low' <1>", "<-9223372036854775807>"));
        CHECK(client.answers("01 <4>'/007' <3>'007' 04 <4>'/007' <1>", "<8>"));
        for (const std::string value :
             {"9223372036854775807", "", "x", "7x", " 7", "7 ", "+7", "0x7", "7.0",
              "9223372036854775808"}) {
            client.sends("\1" + text("/k") + text(value));
            RawClient adds = greeted(server.port());
            REQUIRE(in_step(client));
            adds.sends(bytes("04 <2>'/k' <1>"));
            INFO("1 was added to the value '" << value << "'");
            REQUIRE(adds.is_disconnected());
            client.sends(bytes("03 <2>'/k'"));
            REQUIRE(same_on_wire(client.reads(8 + value.size()), text(value)));
        }
    });
}

inline void reads_slowly() {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        const std::string value = text(std::string(std::size_t{4} << 20, 'v'));
        RawClient slow = greeted(server.port());
        slow.sends("\1" + text("/k") + value);
        constexpr int kReplies = 8;
        for (int i = 0; i < kReplies; ++i) {
            slow.sends("\3" + text("/k"));
        }
        REQUIRE(slow.comes());  // the first reply has begun
        for (int i = 0; i < 3; ++i) {
            REQUIRE(serves_others(server.port()));
        }
        for (int i = 0; i < kReplies; ++i) {
            INFO("reply " << i + 1 << " of " << kReplies << ", of 4 MiB each");
            REQUIRE((slow.reads(value.size()) == value));
        }
        CHECK(in_step(slow));
    });
}

}  // namespace dist::harness
