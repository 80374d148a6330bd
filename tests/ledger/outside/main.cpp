// A program beside the model; its build is what is tested.
#include <cstdio>

int main() { return std::puts("built") < 0; }
