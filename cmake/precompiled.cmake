# The one shared precompiled header: made once here, reused by every target of the torch side.
add_library(larmor_precompiled OBJECT ${CMAKE_CURRENT_LIST_DIR}/precompiled.cpp)
target_link_libraries(larmor_precompiled PRIVATE LibTorch::cpu nlohmann_json::nlohmann_json)
target_precompile_headers(larmor_precompiled PRIVATE ${CMAKE_CURRENT_LIST_DIR}/precompiled.h)
