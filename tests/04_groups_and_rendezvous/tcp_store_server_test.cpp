// What tcp_store_server must do: answer as PyTorch's own server, byte for byte, whatever becomes of single clients. Clients
// are bare connections here, so nothing rests on another exercise.
#include "exercises/04_groups_and_rendezvous/tcp_store_server.hpp"

#include <ctime>
#include <deque>
#include <set>

#include "tests/04_groups_and_rendezvous/open_things.hpp"
#include "tests/04_groups_and_rendezvous/server_strangers.hpp"
#include "tests/04_groups_and_rendezvous/server_talk.hpp"
#include "tests/04_groups_and_rendezvous/server_waits.hpp"
#include "tests/harness/network/faulty_network.hpp"

using namespace dist;
using namespace dist::harness;

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

TEST_CASE("requests may come several in one piece, and byte by byte") {
    on_ranks({1}, [](const Communicator&) {
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
        FaultyNetwork network(seed());
        for (const Calls& calls : {kPyTorch2, kPyTorch1}) {
            const TcpStoreServer server;
            RawClient client(network.edge_to(server.port(), {.most_piece = 1, .most_delay_us = 200})
            );
            INFO("byte by byte");
            replays(client, calls);
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

TEST_CASE("a long request is read as it comes, and not anew with each piece") {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        constexpr int kValues = 12;
        const std::string value(std::size_t{3} << 20, 'v');
        std::string all = bytes("0b <12>");
        const auto seconds_of = [&](const auto& send, const std::string& reply) {
            RawClient client = greeted(server.port());
            const std::clock_t before = std::clock();  // of this process, and so of the server
            send(client);
            client.sends(bytes("07"));
            for (int looks = 0; looks < 10 && !client.comes(); ++looks) {
            }
            REQUIRE(same_on_wire(client.reads(8), bytes(reply)));
            return static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
        };
        const double single_s = seconds_of(
            [&](RawClient& client) {
                for (int i = 0; i < kValues; ++i) {
                    client.sends("\1" + text("/" + std::to_string(i)) + text(value));
                }
            },
            "<12>"
        );
        for (int i = 0; i < kValues; ++i) {
            all += text("/" + std::to_string(i)) + text(value);
        }
        const double together_s = seconds_of([&](RawClient& client) { client.sends(all); }, "<12>");
        INFO(
            "processor time of 12 values of 3 MiB: " << single_s << " s in 12 requests, and "
                                                     << together_s << " s in one"
        );
        CHECK(together_s < 4 * single_s + 0.6);
    });
}

TEST_CASE("clients that wait keep nobody waiting, and all wake up when the last of their keys comes"
) {
    all_wake_up();
}

TEST_CASE("whatever gives a key its value wakes up who waits for it") {
    every_value_wakes_up();
}

TEST_CASE("all keys of a wait must have a value at the same time") {
    all_keys_at_the_same_time();
}

TEST_CASE("a wait that was cancelled leaves nothing behind") {
    cancelled_waits();
}

TEST_CASE("a client of PyTorch 1.13 that gives up a wait stays in step when the key comes") {
    waits_given_up();
}

TEST_CASE("a client that goes away leaves nothing behind") {
    clients_go_away();
}

TEST_CASE("the server disconnects who sends what is too long, and all others notice nothing") {
    sends_too_much();
}

TEST_CASE("the server disconnects who speaks another language, and all others notice nothing") {
    speaks_another_language();
}

TEST_CASE(
    "add takes numbers of 64 bits, and disconnects where the value is none or the sum does not fit"
) {
    adds_to_no_number();
}

TEST_CASE("a client that does not read its replies keeps nobody waiting, and gets all in the end") {
    reads_slowly();
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
    queues();
}

TEST_CASE("all leave a barrier when the last has come, and nobody before") {
    barriers();
}

TEST_CASE("one hundred clients at once are served by one thread, which sleeps while nothing comes"
) {
    on_ranks({1}, [](const Communicator&) {
        const auto before = thread_numbers();
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
        std::set<std::string> mine = thread_numbers();
        std::erase_if(mine, [&](const std::string& number) { return before.contains(number); });
        INFO("threads beside those of before: " << mine.size());
        RawClient other = greeted(server.port());
        REQUIRE(other.answers("05 <0>", "00"));
        REQUIRE(mine.size() == 1);
        const auto times = [&] {
            return std::stoi(thread_status(*mine.begin(), "voluntary_ctxt_switches"));
        };
        const int times_before = times();
        int awake = 0;
        for (int look = 0; look < 20; ++look) {
            usleep(10'000);
            awake += thread_status(*mine.begin(), "State") == "S" ? 0 : 1;
        }
        INFO(
            "how often the thread was seen awake, and how often it fell asleep, in 0.2 s without a "
            "request"
        );
        CHECK(awake <= 2);
        CHECK(times() - times_before <= 5);
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
            clients.emplace_back(server.port());        // has not even said what it speaks
            clients.push_back(greeted(server.port()));  // and one that does not read its replies
            clients.back().sends("\1" + text("/v") + text(std::string(std::size_t{4} << 20, 'v')));
            for (int i = 0; i < 4; ++i) {
                clients.back().sends("\3" + text("/v"));
            }
            REQUIRE(clients.back().comes());
        }
        for (RawClient& client : clients) {
            REQUIRE(client.is_disconnected());
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
            for (const std::string& address : other_addresses()) {
                std::string refused;
                try {
                    RawClient by_another(net::connect_to(address, port, kPatience));
                    CHECK(by_another.answers("06", "<1>"));
                } catch (const Error& error) {
                    refused = error.what();
                }
                CHECK(refused == "");
            }
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
