// The commands of the first hour. ./shardlings starts this program for them, which is built in half
// the time of the one that has all.
#include "course/cli/program.hpp"

int main(int argc, char** argv) {
    using namespace dist::cli;
    constexpr AddCommand kCommands[] = {add_watch,    add_run,  add_list, add_hint,
                                        add_solution, add_diff, add_reset};
    return run_program(argc, argv, kCommands);
}
