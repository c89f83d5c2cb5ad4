# The stack for the small MPI on chapter 04's transport: what it computes is what it computes on Open MPI.
add_executable(stack_bits EXCLUDE_FROM_ALL own_mpi/stack_bits.cpp)
target_link_libraries(stack_bits PRIVATE dist::stack dist::optimised_little dist::warnings)
add_executable(stack_bits_own EXCLUDE_FROM_ALL own_mpi/stack_bits.cpp)
target_link_libraries(stack_bits_own PRIVATE dist::stack_own dist::optimised_little dist::warnings)
# a file in the reference's place, as `--stack mine` has it
add_executable(stack_bits_throws EXCLUDE_FROM_ALL own_mpi/stack_bits.cpp own_mpi/throwing_transport.cpp)
target_link_libraries(stack_bits_throws PRIVATE dist::stack_own dist::optimised_little dist::warnings)
add_dependencies(stack_bits_own start_ranks stack_bits_throws)
add_test(NAME own_mpi COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/own_mpi/own_mpi_test.sh
  $<TARGET_FILE:start_ranks> $<TARGET_FILE:stack_bits_own> ${MPIEXEC_EXECUTABLE} $<TARGET_FILE:stack_bits>
  $<TARGET_FILE:stack_bits_throws>)
set_tests_properties(own_mpi PROPERTIES LABELS course TIMEOUT 300)
