# The stack for a second MPI, where there is one: built beside the first, and run on a simulated cluster.
if(SimGrid_FOUND)
  add_library(simulated_stack MODULE EXCLUDE_FROM_ALL simulated_stack.cpp)  # smpirun loads it, once for each rank
  target_link_libraries(simulated_stack PRIVATE dist::stack_smpi dist::warnings)
  set(hosts ${CMAKE_CURRENT_BINARY_DIR}/hosts)
  file(WRITE ${hosts} "")
  foreach(rank RANGE 15)
    file(APPEND ${hosts} "node-${rank}\n")
  endforeach()
  add_test(NAME simulated_stack COMMAND ${SimGrid_SMPIRUN} -np 16 -hostfile ${hosts}
    -platform ${CMAKE_CURRENT_SOURCE_DIR}/simulated_stack_platform.xml
    --cfg=smpi/simulate-computation:no $<TARGET_FILE:simulated_stack>)
  set_tests_properties(simulated_stack PROPERTIES LABELS runtime)
endif()
