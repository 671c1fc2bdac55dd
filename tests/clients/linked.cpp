// Runs a program by libane from C++: linked MODEL.anec OUTPUTS INPUT...
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "ane.h"

namespace {

struct Free {
	void operator()(ane_nn *nn) const { ane_free(nn); }
};

std::vector<char> load(const char *path)
{
	std::ifstream file(path, std::ios::binary);
	return { std::istreambuf_iterator<char>(file), {} };
}

std::size_t dense_bytes(const ane_nn &nn, unsigned bar)
{
	const auto &nchw = nn.anec.nchw[bar];
	return nchw[0] * nchw[1] * nchw[2] * nchw[3] * 2;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	const std::unique_ptr<ane_nn, Free> nn(ane_init(argv[1]));
	if (!nn || ane_src_count(nn) != static_cast<unsigned>(argc - 3))
		return 1;
	for (unsigned input = 0; input < ane_src_count(nn); input++) {
		const auto dense = load(argv[3 + input]);
		if (dense.size() != dense_bytes(*nn, 4 + ane_dst_count(nn) + input))
			return 1;
		std::vector<char> whole(ane_src_size(nn.get(), input));
		const auto &nchw = nn->anec.nchw[4 + ane_dst_count(nn) + input];
		ane_tile(dense.data(), whole.data(), nchw[0], nchw[1], nchw[2], nchw[3], nchw[4], nchw[5]);
		ane_send(nn.get(), whole.data(), input);
	}
	if (ane_exec(nn.get()) != 0)
		return 1;
	for (unsigned output = 0; output < ane_dst_count(nn); output++) {
		std::vector<char> dense(dense_bytes(*nn, 4 + output));
		ane_tile_read(nn.get(), dense.data(), output);
		std::ofstream file(std::string(argv[2]) + "." + std::to_string(output), std::ios::binary);
		if (!file.write(dense.data(), static_cast<std::streamsize>(dense.size())))
			return 1;
	}
	return 0;
}
