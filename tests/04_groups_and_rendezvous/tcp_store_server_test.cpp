// What tcp_store_server must do: answer as PyTorch's own server, byte for byte, whatever becomes of single clients. Clients
// are bare connections here, so nothing rests on another exercise.
#include "exercises/04_groups_and_rendezvous/tcp_store_server.hpp"

#include <cstdio>
#include <ctime>
#include <deque>
#include <limits>
#include <set>

#include "tests/04_groups_and_rendezvous/open_things.hpp"
#include "tests/04_groups_and_rendezvous/raw_client.hpp"
#include "tests/04_groups_and_rendezvous/recorded_traffic.hpp"
#include "tests/04_groups_and_rendezvous/tcp_store_limits.hpp"
#include "tests/harness/network/faulty_network.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

using Calls = std::vector<Recorded>;

/// The client sends what PyTorch's sent, and has to get what PyTorch's got. Stops at the first reply that is another one.
void replays(RawClient& client, const Calls& calls) {
    for (const Recorded& one : calls) {
        INFO(one.call);
        const Comparison result = client.answers(one.request, one.reply);
        CHECK(result);
        if (!result) {
            return;
        }
    }
}

/// A reply that was none would stand before the ping's.
Comparison in_step(RawClient& client) {
    Comparison result = client.answers("0d 11 22 33 44", "11 22 33 44");
    result.text = "a ping after it: " + result.text;
    return result;
}

/// The server answers another client, now.
Comparison serves_others(int port) {
    RawClient other = greeted(port);
    Comparison result = other.answers("05 <0>", "00");
    result.text = "another client: " + result.text;
    return result;
}

}  // namespace

TEST_CASE("the server answers a client of PyTorch 2.x with the bytes of PyTorch's own server") {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        RawClient client(server.port());
        replays(client, kPyTorch2);
        replays(client, kPyTorch2Alone);
        client.sends(bytes("11"));
        const std::string count = client.reads(8);
        CHECK(same_on_wire(count, bytes("<5>")));
        std::set<std::string> keys;
        for (int i = 0; i < 5; ++i) {
            keys.insert(client.reads(10));
        }
        const std::set<std::string> expected = {
            text("/a"), text("/f"), text("/n"), text("/p"), text("/q")};
        INFO("the keys of list_keys, in any order");
        CHECK(keys == expected);
        CHECK(in_step(client));
    });
}

TEST_CASE("the server answers a client of PyTorch 1.13 with the bytes of PyTorch's own server") {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        RawClient client(server.port());
        replays(client, kPyTorch1);
        INFO("a client of each kind, on one server");
        RawClient other = greeted(server.port());
        CHECK(other.answers("06 <1> <2>'/a' 03 <2>'/a'", "00 <3>'xyz'"));
        RawClient adds_first(server.port());
        CHECK(adds_first.answers("03 <5>'init/' <1>", "<1>"));
        CHECK(client.answers("06", "<3>"));
    });
}

TEST_CASE("requests may come byte by byte, and several in one piece") {
    on_ranks({1}, [](const Communicator&) {
        FaultyNetwork network(seed());
        for (const Calls& calls : {kPyTorch2, kPyTorch1}) {
            const TcpStoreServer server;
            RawClient client(network.edge_to(server.port(), {.most_piece = 1, .most_delay_us = 200})
            );
            INFO("byte by byte");
            replays(client, calls);
        }
        for (const Calls& calls : {kPyTorch2, kPyTorch1}) {
            const TcpStoreServer server;
            RawClient client(server.port());
            std::string requests;
            std::string replies;
            for (const Recorded& one : calls) {
                requests += bytes(one.request);
                replies += bytes(one.reply);
            }
            client.sends(requests);
            INFO("all requests in one piece: after one is answered, is the next one there already?"
            );
            CHECK(same_on_wire(client.reads(replies.size()), replies));
        }
    });
}

TEST_CASE("a client that has sent half a request keeps nobody waiting") {
    on_ranks({1}, [](const Communicator&) {
        for (const std::string request :
             {"01 <2>'/k' <3>'new'", "02 <2>'/k' <0> <3>'new'", "09 <2>'/k' <3>'new'",
              "0b <2> <2>'/k' <3>'new' <2>'/l' <1>'1'"}) {
            const std::string whole = bytes(request);
            for (std::size_t half = 1; half < whole.size(); half += 3) {
                const TcpStoreServer server;
                RawClient client = greeted(server.port());
                client.sends(whole.substr(0, half));
                INFO(half << " of " << whole.size() << " bytes of " << request);
                RawClient other = greeted(server.port());
                REQUIRE(other.answers("05 <1> <2>'/k'", "01"));
                REQUIRE(other.answers("07", "<0>"));
                client.sends(whole.substr(half));
                REQUIRE(other.answers("06 <1> <2>'/k'", "00"));
                REQUIRE(other.answers("03 <2>'/k'", "<3>'new'"));
            }
        }
    });
}

TEST_CASE("clients that wait keep nobody waiting, and all wake up when the last of their keys comes"
) {
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
    });
}

TEST_CASE("whatever gives a key its value wakes up who waits for it") {
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

TEST_CASE("all keys of a wait must have a value at the same time") {
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

TEST_CASE("a wait that was cancelled leaves nothing behind") {
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

TEST_CASE("a client of PyTorch 1.13 that gives up a wait stays in step when the key comes") {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        RawClient client(server.port());
        REQUIRE(client.answers("00 <2>'/a' <1>'x' 05 <1> <5>'/late' 06", "<1>"));
        RawClient other = greeted(server.port());
        REQUIRE(other.answers("04 <5>'/late' <1>", "<1>"));
        INFO("its wait timed out, it asked for something else, and then the key came");
        CHECK(client.answers("05 <1> <2>'/a' 02 <2>'/a'", "00 <1>'x'"));
        INFO("its wait timed out, and it sets the key itself");
        client.sends(bytes("05 <1> <4>'/own'"));
        REQUIRE(other.answers("05 <0>", "00"));
        client.sends(bytes("00 <4>'/own' <1>'y'"));
        CHECK(client.answers("05 <1> <2>'/a' 02 <2>'/a'", "00 <1>'x'"));
    });
}

TEST_CASE("a client that goes away leaves nothing behind") {
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
        other.sends(bytes("12 <2>'/k' <2>"));
        INFO("two who have gone had come to the barrier /k of 2");
        CHECK(other.answers("0c", "01"));
        CHECK(other.answers("07", "<0>"));
    });
}

TEST_CASE("the server disconnects who sends what is too long, and all others notice nothing") {
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
        CHECK(client.reads(value.size()) == value);
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

TEST_CASE("the server disconnects who speaks another language, and all others notice nothing") {
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

TEST_CASE(
    "add takes numbers of 64 bits, and disconnects where the value is none or the sum does not fit"
) {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        RawClient client = greeted(server.port());
        REQUIRE(client.answers("04 <2>'/n' <-7>", "<-7>"));
        REQUIRE(client.answers("03 <2>'/n'", "<2>'-7'"));
        REQUIRE(client.answers("04 <2>'/n' <9223372036854775807>", "<9223372036854775800>"));
        REQUIRE(client.answers("04 <2>'/n' <7>", "<9223372036854775807>"));
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

TEST_CASE("a client that does not read its replies keeps nobody waiting, and gets all in the end") {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        const std::string value = text(std::string(std::size_t{4} << 20, 'v'));
        RawClient slow = greeted(server.port());
        slow.sends("\1" + text("/k") + value);
        constexpr int kReplies = 8;
        for (int i = 0; i < kReplies; ++i) {
            slow.sends("\3" + text("/k"));
        }
        for (int i = 0; i < 3; ++i) {
            REQUIRE(serves_others(server.port()));
        }
        for (int i = 0; i < kReplies; ++i) {
            INFO("reply " << i + 1 << " of " << kReplies << ", of 4 MiB each");
            REQUIRE(slow.reads(value.size()) == value);
        }
        CHECK(in_step(slow));
    });
}

TEST_CASE("a key without a value reads as an empty one") {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        RawClient client = greeted(server.port());
        CHECK(client.answers("03 <2>'/k'", "<0>"));
        REQUIRE(client.answers("01 <2>'/a' <1>'x' 0d 01 02 03 04", "01 02 03 04"));
        CHECK(client.answers("0a <3> <2>'/k' <2>'/a' <2>'/l'", "<0> <1>'x' <0>"));
        CHECK(client.answers("07", "<1>"));
    });
}

TEST_CASE(
    "a queue gives what was pushed first, wakes up one that waits, and counts while it holds "
    "something"
) {
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
        CHECK(client.answers("0f <2>'/q'", "<1> <1>'1'"));
        CHECK(client.answers("0f <2>'/q'", "<1> <0>"));
        CHECK(client.answers("0f <2>'/q'", "<1> <1>'3'"));
        CHECK(client.answers("05 <1> <2>'/q'", "01"));
        first.sends(bytes("06 <1> <2>'/q'"));
        REQUIRE(client.answers("05 <0>", "00"));
        second.sends(bytes("06 <1> <2>'/q'"));
        REQUIRE(client.answers("05 <0>", "00"));
        REQUIRE(client.answers("0e <2>'/q' <1>'4' 05 <0>", "00"));
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

TEST_CASE("all leave a barrier when the last has come, and nobody before") {
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

TEST_CASE("one hundred clients at once are served by one thread, which sleeps while nothing comes"
) {
    on_ranks({1}, [](const Communicator&) {
        const auto before = threads();
        const TcpStoreServer server;
        constexpr int kClients = 100;
        std::deque<RawClient> clients;
        for (int i = 0; i < kClients; ++i) {
            clients.emplace_back(server.port());
        }
        for (RawClient& client : clients) {
            client.sends(bytes("00 ce f7 85 3c 0d 20 4b 00 00 04 <2>'/n' <1>"));
        }
        std::set<std::string> sums;
        for (RawClient& client : clients) {
            REQUIRE(same_on_wire(client.reads(4), bytes("20 4b 00 00")));
            sums.insert(client.reads(8));
            client.sends(bytes("06 <1> <3>'/go'"));
        }
        INFO("100 clients added 1 each: how many different sums did they get?");
        CHECK(sums.size() == kClients);
        INFO("threads beside those of before");
        CHECK(threads() - before == 1);
        RawClient other = greeted(server.port());
        REQUIRE(other.answers("05 <0>", "00"));
        const std::clock_t begin = std::clock();
        usleep(200'000);
        const double cpu_s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
        INFO("seconds of a processor that the server took in 0.2 s without a request");
        CHECK(cpu_s < 0.04);
        REQUIRE(other.answers("04 <3>'/go' <1>", "<1>"));
        for (RawClient& client : clients) {
            REQUIRE(same_on_wire(client.reads(1), bytes("00")));
        }
    });
}

TEST_CASE("when the server has ended, its clients know, and no thread and no descriptor is left") {
    on_ranks({1}, [](const Communicator&) {
        const auto descriptors = open_descriptors();
        const auto all_threads = threads();
        std::deque<RawClient> clients;
        {
            const TcpStoreServer server;
            for (const std::string last : {"", "06 <1> <2>'/k'", "01 <2>", "12 <2>'/k' <2>"}) {
                clients.push_back(greeted(server.port()));
                clients.back().sends(bytes(last));
            }
            clients.emplace_back(server.port());  // has not even said what it speaks
        }
        for (RawClient& client : clients) {
            CHECK(client.is_disconnected());
        }
        clients.clear();
        CHECK(becomes_true([&] { return threads() == all_threads; }));
        CHECK(open_descriptors() == descriptors);
    });
}

TEST_CASE("a server takes the port that it is given, and names one that is taken") {
    on_ranks({1}, [](const Communicator&) {
        int port = 0;
        {
            const TcpStoreServer server;
            port = server.port();
            RawClient client = greeted(port);
            REQUIRE(client.answers("04 <2>'/k' <1>", "<1>"));
            std::string text = "it listens there as well";
            try {
                const TcpStoreServer second(port);
            } catch (const Error& error) {
                text = error.what();
            }
            INFO(text);
            CHECK(text.find(std::to_string(port)) != std::string::npos);
            const TcpStoreServer other;
            RawClient client_of_other = greeted(other.port());
            INFO("two servers have nothing in common");
            CHECK(client_of_other.answers("07", "<0>"));
            CHECK(client.answers("07", "<1>"));
        }
        const TcpStoreServer again(port);
        CHECK(again.port() == port);
        RawClient client = greeted(port);
        INFO("a new server at a port where one has ended");
        CHECK(client.answers("07", "<0>"));
    });
}
