// What tcp_store_server must do: answer as PyTorch's own server, byte for byte, whatever becomes of single clients. Clients
// are bare connections here, so nothing rests on another exercise.
#include "exercises/04_groups_and_rendezvous/tcp_store_server.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <sys/socket.h>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/04_groups_and_rendezvous/store_wire.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/errors.hpp"
#include "tests/harness/words/this_process.hpp"
#include "tests/harness/world/world.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

/// The client sends what PyTorch's sent, and gets what PyTorch's got. Stops at the first reply that is another one.
void replays(const RawClient& client, const std::vector<Recorded>& calls) {
    for (const Recorded& one : calls) {
        INFO(one.call);
        REQUIRE(client.answers(one.request, one.reply));
    }
}

/// A reply that was none would stand before the ping's.
Comparison in_step(const RawClient& client) {
    Comparison result = client.answers("0d 11 22 33 44", "11 22 33 44");
    result.text = "a ping after it: " + result.text;
    return result;
}

/// Sets a value of so many MiB, asks for it so often, and reads nothing. Returns what each reply has to be.
std::string asks_for_much(const RawClient& client, std::size_t mib, int times) {
    const std::string reply = sized(std::string(mib << 20, 'v'));
    client.says("\1" + sized("/large") + reply);
    for (int i = 0; i < times; ++i) {
        client.says("\3" + sized("/large"));
    }
    return reply;
}

/// The server answers another client, now.
Comparison serves_others(int port) {
    Comparison result;
    const std::string error = error_of([&] { result = greeted(port).answers("05 <0>", "00"); });
    return {result && error.empty(), text("another client: ", result ? error : result.text)};
}

}  // namespace

TEST_CASE("the server answers a client of PyTorch 2.x with the bytes of PyTorch's own server") {
    on_one([] {
        const TcpStoreServer server;
        RawClient client(server.port());
        replays(client, kPyTorch2);
        replays(client, kPyTorch2Alone);
        CHECK(client.answers("11", "<5>"));
        std::set<std::string> keys;
        for (int i = 0; i < 5; ++i) {
            keys.insert(client.hears(10));
        }
        CHECK(client.answers("03 <2>'/k'", "<0>"));
        CHECK(client.answers("0a <3> <2>'/k' <2>'/q' <2>'/l'", "<0> <2>'22' <0>"));
        INFO("the keys of list_keys, in any order");
        CHECK((keys == std::set{sized("/a"), sized("/f"), sized("/n"), sized("/p"), sized("/q")}));
        CHECK(in_step(client));
    });
}

TEST_CASE("the server answers a client of PyTorch 1.13 with the bytes of PyTorch's own server") {
    on_one([] {
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
    on_one([] {
        for (const std::vector<Recorded>& calls : {kPyTorch2, kPyTorch1}) {
            std::string requests;
            std::string replies;
            for (const Recorded& one : calls) {
                requests += bytes(one.request);
                replies += bytes(one.reply);
            }
            const TcpStoreServer server;
            RawClient at_once(server.port());
            at_once.says(requests);
            INFO("all in one piece: after one is answered, is the next one there already?");
            CHECK(same_on_wire(at_once.hears(replies.size()), replies));
            const TcpStoreServer other;
            RawClient client(other.port());
            client.says_single(requests);
            INFO("byte by byte");
            CHECK(same_on_wire(client.hears(replies.size()), replies));
        }
    });
}

TEST_CASE("a client that has sent half a request keeps nobody waiting") {
    on_one([] {
        for (const std::string request :
             {"01 <2>'/k' <3>'new'", "02 <2>'/k' <0> <3>'new'", "09 <2>'/k' <3>'new'",
              "0b <2> <2>'/k' <3>'new' <2>'/l' <1>'1'"}) {
            const std::string whole = bytes(request);
            for (std::size_t half = 1; half < whole.size(); half += 3) {
                const TcpStoreServer server;
                RawClient client = greeted(server.port());
                client.says(whole.substr(0, half));
                INFO(half << " of " << whole.size() << " bytes of " << request);
                RawClient other = greeted(server.port());
                REQUIRE(other.answers("05 <1> <2>'/k'", "01"));
                REQUIRE(other.answers("07", "<0>"));
                client.says(whole.substr(half));
                REQUIRE(other.answers("06 <1> <2>'/k'", "00"));
                REQUIRE(other.answers("03 <2>'/k'", "<3>'new'"));
            }
        }
    });
}

TEST_CASE("a long request is read as it comes, and not anew with each piece") {
    on_one([] {
        const TcpStoreServer server;
        const std::string value = sized(std::string(std::size_t{3} << 20, 'v'));
        std::string single;
        std::string together = bytes("0b <12>");
        for (int i = 0; i < 12; ++i) {
            const std::string key = sized("/" + std::to_string(i));
            single += "\1" + key + value;
            together += key + value;
        }
        const auto seconds_of = [&](const std::string& requests) {
            RawClient client = greeted(server.port());
            const double before_s = used_cpu_s();  // of this process, and so of the server
            client.says(requests);
            client.asks("07");
            client.comes(30s);
            REQUIRE(same_on_wire(client.hears(8), bytes("<12>")));
            return used_cpu_s() - before_s;
        };
        const double single_s = seconds_of(single);
        const double together_s = seconds_of(together);
        INFO("processor time, 12 values of 3 MiB: " << single_s << " s; together: " << together_s);
        CHECK(together_s < 4 * single_s + 0.6);
    });
}

TEST_CASE("clients that wait keep nobody waiting; all wake up when the last of their keys comes") {
    on_one([] {
        const TcpStoreServer server;
        std::deque<RawClient> waiting;
        for (int i = 0; i < 20; ++i) {
            waiting.push_back(greeted(server.port()));
            waiting.back().asks("06 <2> <2>'/a' <2>'/b'");
        }
        RawClient old(server.port());
        old.asks("05 <1> <2>'/b'");
        RawClient other = greeted(server.port());
        REQUIRE(other.answers("04 <2>'/a' <1> 04 <2>'/a' <1> 08 <2>'/a'", "<1> <2> <1>"));
        REQUIRE(other.answers("02 <2>'/b' <3>'old' <1>'1'", "<3>'old'"));
        REQUIRE(other.answers("02 <2>'/b' <0> <1>'1'", "<1>'1'"));
        INFO("a came twice and was erased before b came: what a wait got, and then cancel_wait");
        REQUIRE(waiting[0].answers("0c 06 <2> <2>'/a' <2>'/b'", "01"));
        REQUIRE(other.answers("04 <2>'/a' <1>", "<1>"));
        for (RawClient& client : waiting) {
            INFO("20 clients wait for a and b: the reply to one of them");
            REQUIRE(same_on_wire(client.hears(1), bytes("00")));
            REQUIRE(in_step(client));
        }
        CHECK(same_on_wire(old.hears(1), bytes("00")));
        INFO("a wait for no key: all of none are there");
        CHECK(other.answers("06 <0>", "00"));
    });
}

TEST_CASE("whatever gives a key its value wakes up who waits for it") {
    on_one([] {
        for (const std::string request :
             {"01 <2>'/k' <0>", "02 <2>'/k' <0> <1>'v'", "04 <2>'/k' <0>", "09 <2>'/k' <0>",
              "0b <2> <2>'/j' <0> <2>'/k' <0>", "0e <2>'/k' <0>"}) {
            const TcpStoreServer server;
            RawClient client = greeted(server.port());
            client.asks("06 <1> <2>'/k'");
            RawClient other = greeted(server.port());
            REQUIRE(other.answers("05 <0>", "00"));
            other.asks(request);
            INFO("a client waits for /k, another one sends " << request);
            CHECK(same_on_wire(client.hears(1), bytes("00")));
        }
    });
}

TEST_CASE("a wait that was cancelled leaves nothing behind") {
    on_one([] {
        for (const std::string request : {"06 <1> <2>'/k'", "12 <2>'/k' <2>"}) {
            const TcpStoreServer server;
            RawClient client = greeted(server.port());
            client.asks(request);
            REQUIRE(client.answers("0c", "01"));
            RawClient other = greeted(server.port());
            REQUIRE(other.answers("12 <2>'/k' <2> 0c 04 <2>'/k' <1>", "01 <1>"));
            INFO(request << " was cancelled; then somebody set /k, and came to barrier /k");
            CHECK(in_step(client));
        }
    });
}

TEST_CASE("a client of PyTorch 1.13 that gives up a wait stays in step when the key comes") {
    on_one([] {
        const TcpStoreServer server;
        RawClient client(server.port());
        REQUIRE(client.answers("00 <2>'/a' <1>'x' 05 <1> <5>'/late' 06", "<1>"));
        RawClient other = greeted(server.port());
        REQUIRE(other.answers("04 <5>'/late' <1>", "<1>"));
        INFO("its wait timed out, it asked for something else, and then the key came");
        CHECK(client.answers("05 <1> <2>'/a' 02 <2>'/a'", "00 <1>'x'"));
        INFO("its wait timed out, and half of its next request is there when the key comes");
        client.asks("05 <1> <5>'/half'");
        REQUIRE(other.answers("05 <0>", "00"));
        client.asks("02");
        REQUIRE(other.answers("05 <0>", "00"));
        REQUIRE(other.answers("04 <5>'/half' <1>", "<1>"));
        CHECK(client.answers("<2>'/a'", "<1>'x'"));
        INFO("its wait timed out, and it sets the key itself");
        client.asks("05 <1> <4>'/own'");
        REQUIRE(other.answers("05 <0>", "00"));
        client.asks("00 <4>'/own' <1>'y'");
        CHECK(client.answers("05 <1> <2>'/a' 02 <2>'/a'", "00 <1>'x'"));
    });
}

TEST_CASE("a client that goes away leaves nothing behind") {
    on_one([] {
        const TcpStoreServer server;
        RawClient other = greeted(server.port());
        const auto before = entries("fd");
        for (const std::string last :
             {"", "01 <2>'/k' <3>'ne'", "06 <1> <2>'/k'", "12 <2>'/k' <2>", "05", "03 <2>'/n'"}) {
            for (const bool resets : {false, true}) {
                RawClient client = greeted(server.port());
                client.asks(last);
                REQUIRE(other.answers("07", "<0>"));
                if (resets) {
                    client.resets();
                }
            }
            INFO("clients went away after " << (last.empty() ? "the greeting" : last));
            REQUIRE(becomes_true([&] { return entries("fd") == before; }));
        }
        {
            RawClient client = greeted(server.port());
            asks_for_much(client, 8, 4);
            client.hears(1);
            shutdown(client.descriptor(), SHUT_WR);
        }
        const CrashMeans crash("as if the server had written to a client that has gone: SIGPIPE");
        INFO("a client went away that had not read what it asked for");
        REQUIRE(becomes_true([&] { return entries("fd") == before; }));
        REQUIRE(other.answers("08 <6>'/large'", "<1>"));
        INFO("two who have gone had come to the barrier /k of 2");
        CHECK(other.answers("12 <2>'/k' <2> 0c 07", "01 <0>"));
    });
}

TEST_CASE("the server disconnects who sends what is too long, and all others notice nothing") {
    on_one([] {
        const TcpStoreServer server;
        constexpr std::size_t kKey = TcpStoreServer::kMaxKey;
        constexpr std::size_t kValue = TcpStoreServer::kMaxValue;
        constexpr std::size_t kKeys = TcpStoreServer::kMaxKeys;
        const std::vector<std::tuple<std::string, std::string, std::size_t>> limits = {
            {"get of a key that is too long", "\3", kKey},
            {"set of a key that is too long", "\1", kKey},
            {"set of a value that is too long", "\1" + sized("/k"), kValue},
            {"queue_push of a value that is too long", "\x0e" + sized("/k"), kValue},
            {"check of too many keys", "\5", kKeys},
            {"wait for too many keys", "\6", kKeys},
            {"multi_set of too many keys", "\x0b", kKeys}};
        for (const auto& [what, begin, most] : limits) {
            for (const std::uint64_t length :
                 {std::uint64_t{most} + 1, std::uint64_t{1} << 32, ~std::uint64_t{0}}) {
                RawClient client = greeted(server.port());
                client.says(begin + number(length) + "/k");
                INFO(what << ": " << length << ", of which a few bytes are sent");
                REQUIRE(client.has_ended());
                REQUIRE(serves_others(server.port()));
            }
        }
        RawClient client = greeted(server.port());
        const std::string longest = sized(std::string(kKey, 'k'));
        const std::string large = sized(std::string(kValue, 'v'));
        client.says("\1" + longest + large + "\3" + longest);
        INFO("the longest key, and the longest value");
        CHECK((client.hears(large.size()) == large));
        client.says("\x09" + longest + sized("v") + "\3" + longest);
        INFO("the longest value, to which one byte is appended: that is no long request");
        CHECK(client.hears(large.size() + 1).size() == large.size() + 1);
        client.says("\5" + number(kKeys) + std::string(8 * kKeys, '\0'));
        INFO("the longest list, of empty keys");
        CHECK(same_on_wire(client.hears(1), "\1"));
        CHECK(in_step(client));
    });
}

TEST_CASE("the server disconnects who speaks another language, and all others notice nothing") {
    on_one([] {
        const TcpStoreServer server;
        const std::string hello = bytes("00 ce f7 85 3c 0d 20 4b 00 00");
        const std::vector<std::pair<std::string, std::string>> all = {
            {"HTTP", "GET / HTTP/1.1\r\nHost: here\r\n\r\n"},
            {"another number than validate's", bytes("00 ce f7 85 3d 0d 20 4b 00 00")},
            {"op 7 of PyTorch 1.13, which watches a key", bytes("07 <2>'/k'")},
            {"op 9 of PyTorch 1.13, which has none", bytes("09 <2>'/k'")},
            {"a greeting of PyTorch 2.x, and op 13 (hexadecimal)", hello + "\x13"},
            {"a greeting of PyTorch 2.x, and op ff", hello + "\xff"},
            {"validate, and validate with another number", hello + bytes("00 ce f7 85 3d")}};
        for (const auto& [what, sent] : all) {
            RawClient client(server.port());
            client.says(sent);
            INFO("a client begins with " << what);
            CHECK(client.has_ended());
            CHECK(serves_others(server.port()));
        }
    });
}

TEST_CASE("add takes numbers of 64 bits, and disconnects where value or sum is none") {
    on_one([] {
        const TcpStoreServer server;
        RawClient client = greeted(server.port());
        REQUIRE(client.answers("04 <2>'/n' <-7> 03 <2>'/n'", "<-7> <2>'-7'"));
        REQUIRE(client.answers("04 <2>'/n' <9223372036854775807>", "<9223372036854775800>"));
        CHECK(client.answers("04 <4>'/low' <-9223372036854775808>", "<-9223372036854775808>"));
        CHECK(client.answers("04 <4>'/low' <1>", "<-9223372036854775807>"));
        CHECK(client.answers("01 <4>'/007' <3>'007' 04 <4>'/007' <1>", "<8>"));
        for (const std::string value :
             {"9223372036854775807", "", "x", "7x", " 7", "+7", "7.0", "9223372036854775808"}) {
            client.says("\1" + sized("/k") + sized(value));
            RawClient adds = greeted(server.port());
            REQUIRE(in_step(client));
            adds.asks("04 <2>'/k' <1>");
            INFO("1 was added to the value '" << value << "'");
            REQUIRE(adds.has_ended());
            client.asks("03 <2>'/k'");
            REQUIRE(same_on_wire(client.hears(8 + value.size()), sized(value)));
        }
    });
}

TEST_CASE("a client that does not read its replies keeps nobody waiting, and gets all in the end") {
    on_one([] {
        const TcpStoreServer server;
        RawClient slow = greeted(server.port());
        constexpr int kReplies = 8;
        const std::string value = asks_for_much(slow, 4, kReplies);
        REQUIRE(slow.comes());  // the first reply has begun
        REQUIRE(serves_others(server.port()));
        for (int i = 0; i < kReplies; ++i) {
            INFO("reply " << i + 1 << " of " << kReplies << ", of 4 MiB each");
            REQUIRE((slow.hears(value.size()) == value));
        }
        CHECK(in_step(slow));
    });
}

TEST_CASE("a queue gives what was pushed first, wakes up one that waits, and counts if not empty") {
    on_one([] {
        const TcpStoreServer server;
        RawClient client = greeted(server.port());
        RawClient first = greeted(server.port());
        RawClient second = greeted(server.port());
        client.asks("0e <2>'/q' <1>'1' 0e <2>'/q' <0> 0e <2>'/q' <1>'3'");
        REQUIRE(client.answers("10 <2>'/q'", "<3>"));
        CHECK(client.answers("05 <1> <2>'/q'", "00"));
        INFO("of a queue, which is no key for num_keys, list_keys, get and erase");
        CHECK(client.answers("07 11 03 <2>'/q' 08 <2>'/q'", "<0> <0> <0> <0>"));
        CHECK(client.answers("0f <2>'/q' 0f <2>'/q' 0f <2>'/q'", "<1> <1>'1' <1> <0> <1> <1>'3'"));
        CHECK(client.answers("05 <1> <2>'/q'", "01"));
        for (const RawClient* waiting : {&first, &second}) {
            waiting->asks("06 <1> <2>'/q'");
            REQUIRE(client.answers("05 <0>", "00"));
        }
        // and then a value comes that neither waits for
        REQUIRE(client.answers("0e <2>'/q' <1>'4' 04 <2>'/a' <1> 05 <0>", "<1> 00"));
        const auto was_told = [](RawClient& waiting) {
            waiting.asks("0c");
            const bool told = waiting.hears(1) == bytes("00");
            return told && waiting.hears(1) == bytes("01") ? 1 : 0;
        };
        INFO("two wait for a queue, and one value is pushed: how many of them were told?");
        CHECK(was_told(first) + was_told(second) == 1);
    });
}

TEST_CASE("all leave a barrier when the last has come, and nobody before") {
    on_one([] {
        const TcpStoreServer server;
        constexpr int kClients = 5;
        std::deque<RawClient> clients;
        for (int i = 0; i < kClients; ++i) {
            clients.push_back(greeted(server.port()));
        }
        RawClient other = greeted(server.port());
        for (int round = 0; round < 3; ++round) {
            for (int i = 0; i + 1 < kClients; ++i) {
                clients[i].asks("12 <2>'/b' <5>");
            }
            REQUIRE(other.answers("12 <2>'/c' <5> 0c", "01"));  // another one
            INFO("round " << round << " of 3: one of four who had come goes away and comes back");
            REQUIRE(clients[0].answers("0c", "01"));
            clients[kClients - 1].asks("12 <2>'/b' <5>");
            REQUIRE(other.answers("05 <0>", "00"));
            clients[0].asks("12 <2>'/b' <5>");
            for (RawClient& client : clients) {
                REQUIRE(same_on_wire(client.hears(1), bytes("00")));
                REQUIRE(in_step(client));
            }
        }
    });
}

TEST_CASE("one hundred clients are served by one thread, which sleeps while nothing comes") {
    on_one([] {
        const auto before = names_in("task");
        const TcpStoreServer server;
        constexpr int kClients = 100;
        std::deque<RawClient> clients;
        for (int i = 0; i < kClients; ++i) {
            clients.emplace_back(server.port());
        }
        for (RawClient& client : clients) {
            client.asks("00 ce f7 85 3c 0d 20 4b 00 00 04 <2>'/n' <1>");
        }
        std::set<std::string> sums;
        for (RawClient& client : clients) {
            REQUIRE(same_on_wire(client.hears(4), bytes("20 4b 00 00")));
            sums.insert(client.hears(8));
            client.asks("06 <1> <3>'/go'");
        }
        INFO("100 clients added 1 each: how many different sums did they get?");
        CHECK(sums.size() == kClients);
        std::set<std::string> mine = names_in("task");
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
            nap(10);
            awake += thread_status(*mine.begin(), "State") == "S" ? 0 : 1;
        }
        INFO("in 0.2 s without a request it was seen awake, and fell asleep, so often");
        CHECK(awake <= 2);
        CHECK(times() - times_before <= 5);
        REQUIRE(other.answers("04 <3>'/go' <1>", "<1>"));
        for (RawClient& client : clients) {
            REQUIRE(same_on_wire(client.hears(1), bytes("00")));
        }
    });
}

TEST_CASE("when the server has ended, its clients know, and no thread and no descriptor is left") {
    on_one([] {
        const auto descriptors = entries("fd");
        const auto all_threads = entries("task");
        std::deque<RawClient> clients;
        {
            const TcpStoreServer server;
            for (const std::string last : {"", "06 <1> <2>'/k'", "01 <2>", "12 <2>'/k' <2>"}) {
                clients.push_back(greeted(server.port()));
                clients.back().asks(last);
            }
            clients.emplace_back(server.port());        // has not even said what it speaks
            clients.push_back(greeted(server.port()));  // and one that does not read its replies
            asks_for_much(clients.back(), 4, 4);
            REQUIRE(clients.back().comes());
        }
        for (; !clients.empty(); clients.pop_back()) {
            REQUIRE(clients.back().has_ended());
        }
        CHECK(becomes_true([&] { return entries("task") == all_threads; }));
        CHECK(entries("fd") == descriptors);
    });
}

TEST_CASE("a server takes the port that it is given, and names one that is taken") {
    on_one([] {
        auto server = std::make_unique<TcpStoreServer>();
        const int port = server->port();
        RawClient client = greeted(port);
        REQUIRE(client.answers("04 <2>'/k' <1>", "<1>"));
        for (const std::string& address : other_addresses()) {
            const std::string refused = error_of([&] {
                const RawClient by_another(net::connect_to(address, port, Wire::kPatience));
                CHECK(by_another.answers("06", "<1>"));
            });
            CHECK(refused == "");
        }
        CHECK(throws_error([&] { const TcpStoreServer second(port); }, {text(port)}));
        const TcpStoreServer other;
        RawClient client_of_other = greeted(other.port());
        INFO("two servers have nothing in common");
        CHECK(client_of_other.answers("07", "<0>"));
        CHECK(client.answers("07", "<1>"));
        server.reset();
        const TcpStoreServer again(port);
        CHECK(again.port() == port);
        INFO("a new server at a port where one has ended");
        CHECK(greeted(port).answers("07", "<0>"));
    });
}
