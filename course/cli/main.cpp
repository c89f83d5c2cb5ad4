// The program behind ./shardlings.
#include "course/cli/program.hpp"

int main(int argc, char** argv) {
    return dist::cli::run_program(argc, argv);
}
