// main() of single-process tests.
#include "tests/harness/job/session.hpp"

int main(int argc, char** argv) {
    return dist::harness::session::run_alone(argc, argv);
}
