// The programs of rpc_program, which scripts/plain_rpc.py has under the same names. Each rank runs the whole program.
#pragma once

#include <map>
#include <string>

#include "tests/course/remote_calls/rank.hpp"

namespace dist::remote_calls {

struct Program {
    int ranks;
    void (*run)(Rank& rank);
};
using Programs = std::map<std::string, Program>;

Programs call_programs();
Programs reference_programs();
Programs autograd_programs();
Programs optimizer_programs();
Programs speed_programs();

}  // namespace dist::remote_calls
