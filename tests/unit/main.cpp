// Catch2's main, one object for all unit tests.
#define CATCH_CONFIG_RUNNER  // version 2 compiles its library here
#include "catch.h"

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
