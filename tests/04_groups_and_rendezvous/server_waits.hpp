// What becomes of clients that wait: for keys, in queues, at barriers. Each function is the body of a TEST_CASE.
#pragma once

#include <deque>
#include <string>

#include "exercises/04_groups_and_rendezvous/tcp_store_server.hpp"
#include "tests/04_groups_and_rendezvous/open_things.hpp"
#include "tests/04_groups_and_rendezvous/server_talk.hpp"

namespace dist::harness {

inline void all_wake_up() {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        std::deque<RawClient> waiting;
        for (int i = 0; i < 20; ++i) {
            waiting.push_back(greeted(server.port()));
            waiting.back().sends(bytes("06 <2> <2>'/a' <2>'/b'"));
        }
        RawClient old(server.port());
        old.sends(bytes("05 <1> <2>'/b'"));
        RawClient other = greeted(server.port());
        REQUIRE(other.answers("04 <2>'/a' <1>", "<1>"));
        REQUIRE(other.answers("02 <2>'/b' <3>'old' <1>'1'", "<3>'old'"));
        REQUIRE(other.answers("02 <2>'/b' <0> <1>'1'", "<1>'1'"));
        for (RawClient& client : waiting) {
            INFO("20 clients wait for a and b: the reply to one of them");
            REQUIRE(same_on_wire(client.reads(1), bytes("00")));
            REQUIRE(in_step(client));
        }
        CHECK(same_on_wire(old.reads(1), bytes("00")));
        INFO("a wait for no key: all of none are there");
        CHECK(other.answers("06 <0>", "00"));
    });
}

inline void every_value_wakes_up() {
    on_ranks({1}, [](const Communicator&) {
        for (const std::string request :
             {"01 <2>'/k' <0>", "02 <2>'/k' <0> <1>'v'", "04 <2>'/k' <0>", "09 <2>'/k' <0>",
              "0b <2> <2>'/j' <0> <2>'/k' <0>", "0e <2>'/k' <0>"}) {
            const TcpStoreServer server;
            RawClient client = greeted(server.port());
            client.sends(bytes("06 <1> <2>'/k'"));
            RawClient other = greeted(server.port());
            REQUIRE(other.answers("05 <0>", "00"));
            other.sends(bytes(request));
            INFO("a client waits for /k, another one sends " << request);
            CHECK(same_on_wire(client.reads(1), bytes("00")));
        }
    });
}

inline void all_keys_at_the_same_time() {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        RawClient client = greeted(server.port());
        client.sends(bytes("06 <2> <2>'/a' <2>'/b'"));
        RawClient other = greeted(server.port());
        REQUIRE(other.answers("04 <2>'/a' <1>", "<1>"));
        REQUIRE(other.answers("04 <2>'/a' <1>", "<2>"));
        REQUIRE(other.answers("08 <2>'/a'", "<1>"));
        REQUIRE(other.answers("04 <2>'/b' <1>", "<1>"));
        client.sends(bytes("0c"));
        INFO("a came twice and was erased before b came: what the wait got, and then cancel_wait");
        CHECK(same_on_wire(client.reads(1), bytes("01")));
        CHECK(in_step(client));
    });
}

inline void cancelled_waits() {
    on_ranks({1}, [](const Communicator&) {
        for (const std::string request : {"06 <1> <2>'/k'", "12 <2>'/k' <2>"}) {
            const TcpStoreServer server;
            RawClient client = greeted(server.port());
            client.sends(bytes(request));
            REQUIRE(client.answers("0c", "01"));
            RawClient other = greeted(server.port());
            other.sends(bytes("12 <2>'/k' <2>"));
            REQUIRE(other.answers("0c", "01"));
            REQUIRE(other.answers("04 <2>'/k' <1>", "<1>"));
            INFO(request << " was cancelled; then somebody set /k, and came to barrier /k");
            CHECK(in_step(client));
        }
    });
}

inline void waits_given_up() {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        RawClient client(server.port());
        REQUIRE(client.answers("00 <2>'/a' <1>'x' 05 <1> <5>'/late' 06", "<1>"));
        RawClient other = greeted(server.port());
        REQUIRE(other.answers("04 <5>'/late' <1>", "<1>"));
        INFO("its wait timed out, it asked for something else, and then the key came");
        CHECK(client.answers("05 <1> <2>'/a' 02 <2>'/a'", "00 <1>'x'"));
        INFO("its wait timed out, and half of its next request is there when the key comes");
        client.sends(bytes("05 <1> <5>'/half'"));
        REQUIRE(other.answers("05 <0>", "00"));
        client.sends(bytes("02"));
        REQUIRE(other.answers("05 <0>", "00"));
        REQUIRE(other.answers("04 <5>'/half' <1>", "<1>"));
        CHECK(client.answers("<2>'/a'", "<1>'x'"));
        INFO("its wait timed out, and it sets the key itself");
        client.sends(bytes("05 <1> <4>'/own'"));
        REQUIRE(other.answers("05 <0>", "00"));
        client.sends(bytes("00 <4>'/own' <1>'y'"));
        CHECK(client.answers("05 <1> <2>'/a' 02 <2>'/a'", "00 <1>'x'"));
    });
}

inline void queues() {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        RawClient client = greeted(server.port());
        RawClient first = greeted(server.port());
        RawClient second = greeted(server.port());
        REQUIRE(client.answers("05 <1> <2>'/q'", "01"));
        REQUIRE(
            client.answers("0e <2>'/q' <1>'1' 0e <2>'/q' <0> 0e <2>'/q' <1>'3' 10 <2>'/q'", "<3>")
        );
        CHECK(client.answers("05 <1> <2>'/q'", "00"));
        {
            INFO("a queue is no key for num_keys, list_keys, get and erase");
            CHECK(client.answers("07 11 03 <2>'/q' 08 <2>'/q'", "<0> <0> <0> <0>"));
            CHECK(client.answers("10 <2>'/q'", "<3>"));
        }
        CHECK(client.answers("0f <2>'/q'", "<1> <1>'1'"));
        CHECK(client.answers("0f <2>'/q'", "<1> <0>"));
        CHECK(client.answers("0f <2>'/q'", "<1> <1>'3'"));
        CHECK(client.answers("05 <1> <2>'/q'", "01"));
        first.sends(bytes("06 <1> <2>'/q'"));
        REQUIRE(client.answers("05 <0>", "00"));
        second.sends(bytes("06 <1> <2>'/q'"));
        REQUIRE(client.answers("05 <0>", "00"));
        // and then a value comes that neither waits for
        REQUIRE(client.answers("0e <2>'/q' <1>'4' 04 <2>'/a' <1> 05 <0>", "<1> 00"));
        const auto was_told = [](RawClient& waiting) {
            waiting.sends(bytes("0c"));
            const bool told = waiting.reads(1) == bytes("00");
            return told && waiting.reads(1) == bytes("01") ? 1 : 0;
        };
        const int told = was_told(first) + was_told(second);
        INFO("two wait for a queue, and one value is pushed: how many of them were told?");
        CHECK(told == 1);
    });
}

inline void barriers() {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        constexpr int kClients = 5;
        std::deque<RawClient> clients;
        for (int i = 0; i < kClients; ++i) {
            clients.push_back(greeted(server.port()));
        }
        RawClient other = greeted(server.port());
        for (int round = 0; round < 3; ++round) {
            for (int i = 0; i + 1 < kClients; ++i) {
                clients[i].sends(bytes("12 <2>'/b' <5>"));
            }
            other.sends(bytes("12 <2>'/c' <5>"));  // another one
            REQUIRE(other.answers("0c", "01"));
            clients[0].sends(bytes("0c"));
            INFO("round " << round << " of 3: one of four who had come goes away and comes back");
            REQUIRE(same_on_wire(clients[0].reads(1), bytes("01")));
            clients[kClients - 1].sends(bytes("12 <2>'/b' <5>"));
            REQUIRE(other.answers("05 <0>", "00"));
            clients[0].sends(bytes("12 <2>'/b' <5>"));
            for (RawClient& client : clients) {
                REQUIRE(same_on_wire(client.reads(1), bytes("00")));
                REQUIRE(in_step(client));
            }
        }
    });
}

}  // namespace dist::harness
