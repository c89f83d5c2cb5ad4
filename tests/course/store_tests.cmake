# The store of chapter 04 beside PyTorch's own.
set(stores ${CMAKE_CURRENT_LIST_DIR}/stores)
add_executable(store_program EXCLUDE_FROM_ALL ${stores}/store_program.cpp)
target_link_libraries(store_program PRIVATE solution_tcp_store solution_tcp_store_server dist::warnings Threads::Threads)
if(LibTorch_FOUND)
  add_executable(pytorch_stores_test EXCLUDE_FROM_ALL ${stores}/pytorch_stores_test.cpp)
  target_link_libraries(pytorch_stores_test PRIVATE
    dist_catch2_main solution_tcp_store_server LibTorch::LibTorch dist::warnings)
  add_test(NAME pytorch_stores COMMAND pytorch_stores_test)
  set_tests_properties(pytorch_stores PROPERTIES LABELS network TIMEOUT 120)
endif()
