# The bench: its arithmetic, and a run of two ranks. A time is never tested.
add_executable(lab_test EXCLUDE_FROM_ALL lab_test.cpp lab_report_test.cpp)
target_link_libraries(lab_test
  PRIVATE dist_catch2_main dist::lab dist::warnings nlohmann_json::nlohmann_json)
target_compile_definitions(lab_test PRIVATE REPOSITORY="${PROJECT_SOURCE_DIR}")
add_test(NAME lab COMMAND lab_test)
set_tests_properties(lab PROPERTIES LABELS lab)

add_executable(lab_bench_test EXCLUDE_FROM_ALL lab_bench_test.cpp)
target_link_libraries(lab_bench_test
  PRIVATE dist_catch2_main dist::base dist::warnings fmt::fmt nlohmann_json::nlohmann_json)
set(two_ranks "${MPIEXEC_EXECUTABLE} --map-by :OVERSUBSCRIBE --bind-to none -n 2")
target_compile_definitions(lab_bench_test PRIVATE
  BENCH_COMMAND="${two_ranks} $<TARGET_FILE:bench>")
add_dependencies(lab_bench_test bench)
add_test(NAME lab_bench COMMAND lab_bench_test)
set_tests_properties(lab_bench PROPERTIES LABELS lab TIMEOUT 300 PROCESSORS 2)
set_property(TEST lab_bench PROPERTY ENVIRONMENT
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
  OMPI_MCA_btl_vader_single_copy_mechanism=none)
