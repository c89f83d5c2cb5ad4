// The program behind ./shardlings.
#include "course/cli/program.hpp"

int main(int argc, char** argv) {
    using namespace dist::cli;
    constexpr AddCommand kCommands[] = {
        add_watch,    add_run,   add_list,   add_hint,   add_ask,   add_solution,
        add_diff,     add_reset, add_verify, add_doctor, add_trace, add_bench,
        add_simulate, add_prove, add_train,  add_launch, add_plot,  add_book,
        add_demo,     add_test,  add_check,  add_grade};
    return run_program(argc, argv, kCommands);
}
