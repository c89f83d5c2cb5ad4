# The stack for a second MPI, where there is one: built beside the first, and run on a simulated cluster.
if(SimGrid_FOUND)
  set(hosts ${CMAKE_CURRENT_BINARY_DIR}/hosts)
  file(WRITE ${hosts} "")
  foreach(rank RANGE 63)
    file(APPEND ${hosts} "node-${rank}\n")
  endforeach()
  # NAME.cpp and SOURCES: a module that smpirun loads, once for each rank.
  function(add_on_simulated_ranks name ranks)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;SETTINGS")
    add_library(${name} MODULE EXCLUDE_FROM_ALL ${name}.cpp ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE dist::stack_smpi dist::warnings)
    list(TRANSFORM arg_SETTINGS PREPEND --cfg=)
    add_test(NAME ${name} COMMAND ${SimGrid_SMPIRUN} -np ${ranks} -hostfile ${hosts}
      -platform ${CMAKE_CURRENT_SOURCE_DIR}/simulated_platform.xml
      --cfg=smpi/simulate-computation:no ${arg_SETTINGS} $<TARGET_FILE:${name}>)
    # SimGrid 3 ends with status 0 after a deadlock
    set_tests_properties(${name} PROPERTIES LABELS runtime TIMEOUT 300 FAIL_REGULAR_EXPRESSION "Deadlock")
  endfunction()
  add_on_simulated_ranks(simulated_stack 16)

  if(LibTorch_FOUND)
    # SimGrid takes messages from a rank's own thread alone: so a backward of tensor_parallel that sends from there
    set(answer ${CMAKE_CURRENT_BINARY_DIR}/tensor_parallel.cpp)
    set(base ${PROJECT_SOURCE_DIR}/solutions/08_model_parallel/tensor_parallel.cpp)
    set(list ${PROJECT_SOURCE_DIR}/tests/alternatives/08_model_parallel/tensor_parallel.toml)
    add_executable(changed_source EXCLUDE_FROM_ALL changed_source.cpp)
    target_link_libraries(changed_source PRIVATE dist::cli dist::warnings)
    add_custom_command(OUTPUT ${answer} DEPENDS ${base} ${list} VERBATIM
      COMMAND changed_source ${PROJECT_SOURCE_DIR} ${list}:weight_on_a_thread > ${answer})
    # autograd's mode is a variable of each thread: so each rank is one
    add_on_simulated_ranks(simulated_groups 64
      SOURCES ${answer} ${PROJECT_SOURCE_DIR}/solutions/08_model_parallel/pipeline.cpp
              ${PROJECT_SOURCE_DIR}/solutions/08_model_parallel/vocab_parallel.cpp
      SETTINGS contexts/factory:thread)
    link_needs(simulated_groups PRIVATE torch dist::runtime_smpi "")
  endif()
endif()
