// Our store for programs in other languages, for scripts/real_stores.py:
//
//     store_program serve       serves, prints its port, and ends when its input does
//     store_program call PORT   makes calls at a server on this machine, and prints what they return, a line each
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>

#include "exercises/04_groups_and_rendezvous/tcp_store.hpp"

namespace {

using namespace std::chrono_literals;

void serve() {
    const dist::TcpStoreServer server;
    std::cout << server.port() << std::endl;
    std::cin.ignore(std::numeric_limits<std::streamsize>::max());
}

void call(int port) {
    dist::TcpStore store("127.0.0.1", port, 4s);
    const auto print = [](const char* name, const auto& value) {
        std::cout << name << ' ' << value << '\n';
    };
    store.set("a", "xyz");
    print("get", store.get("a"));
    for (const int amount : {5, 2, -10}) {
        print("add", store.add("n", amount));
    }
    print("get", store.get("n"));
    print("compare_set", store.compare_set("m", "old", "new"));
    print("compare_set", store.compare_set("m", "", "new"));
    print("compare_set", store.compare_set("m", "zzz", "q"));
    print("compare_set", store.compare_set("m", "new", "q"));
    print("check", store.check({"a", "nokey"}));
    print("check", store.check({"a", "n"}));
    store.wait({"a", "n"}, 4s);
    print("num_keys", store.num_keys());
    print("erase", store.erase("m"));
    print("erase", store.erase("m"));
    try {
        store.wait({"a", "never"}, 100ms);
        print("wait", "returned");
    } catch (const dist::Timeout& timeout) {
        print("wait", timeout.what());
    }
    store.set("never", "");
    print("get", store.get("never"));
    const std::string large(dist::TcpStoreServer::kMaxValue, 'v');
    store.set("large", large);
    print("large", store.get("large") == large);
    print("num_keys", store.num_keys());
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    try {
        if (what == "serve") {
            serve();
        } else if (what == "call" && argc == 3) {
            call(std::atoi(argv[2]));
        } else {
            std::cerr << "store_program serve, or store_program call PORT\n";
            return 2;
        }
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
    return 0;
}
