// The course's remote calls, for scripts/rpc_oracle.py and scripts/compare_rpc.py:
//
//     rpc_program list                      prints each program, and on how many ranks it runs
//     rpc_program NAME RANK RANKS FILE      is one rank of it; the ranks meet in the file
//
// A rank prints lines "what = value".
#include <ATen/Parallel.h>
#include <cstdlib>
#include <iostream>
#include <string>

#include "tests/course/remote_calls/programs.hpp"

namespace {

using namespace dist::remote_calls;

Programs all_programs() {
    Programs all;
    for (Programs some :
         {call_programs(), reference_programs(), autograd_programs(), optimizer_programs(),
          speed_programs()}) {
        all.merge(some);
    }
    return all;
}

}  // namespace

int main(int argc, char** argv) {
    at::set_num_threads(1);  // a processor a rank
    const Programs programs = all_programs();
    const std::string name = argc > 1 ? argv[1] : "";
    if (name == "list") {
        for (const auto& [program, what] : programs) {
            std::cout << program << ' ' << what.ranks << '\n';
        }
        return 0;
    }
    if (argc != 5 || !programs.contains(name)) {
        std::cerr << "rpc_program list, or rpc_program NAME RANK RANKS FILE\n";
        return 2;
    }
    try {
        Rank rank(argv[4], std::atoi(argv[2]), std::atoi(argv[3]));
        programs.at(name).run(rank);
        rank.rpc.shutdown();
    } catch (const std::exception& error) {
        std::cerr << name << ", rank " << argv[2] << ": " << error.what() << '\n';
        return 1;
    }
    return 0;
}
