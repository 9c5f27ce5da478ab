// Reads instructions as lines of hexadecimal bytes and says what LLVM's tables know of each:
//   opcode name ; implicit reads ; implicit writes ; destination tied to a source ; counter bits ; latency ; resources
// Run by facts.py, which compiles it with the public interfaces of LLVM 19. Arguments: the processor's name.
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <llvm-c/Target.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSchedule.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>

namespace {

struct Tables {
    std::unique_ptr<llvm::MCRegisterInfo> registers;
    std::unique_ptr<llvm::MCAsmInfo> assembly;
    std::unique_ptr<llvm::MCInstrInfo> instructions;
    std::unique_ptr<llvm::MCSubtargetInfo> processor;
    std::unique_ptr<llvm::MCContext> context;
    std::unique_ptr<llvm::MCDisassembler> disassembler;
};

Tables open_tables(const std::string& cpu) {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    const std::string triple = "amdgcn-amd-amdhsa";
    std::string error;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
    Tables tables;
    tables.registers.reset(target->createMCRegInfo(triple));
    tables.assembly.reset(target->createMCAsmInfo(*tables.registers, triple, llvm::MCTargetOptions()));
    tables.instructions.reset(target->createMCInstrInfo());
    tables.processor.reset(target->createMCSubtargetInfo(triple, cpu, ""));
    tables.context = std::make_unique<llvm::MCContext>(llvm::Triple(triple), tables.assembly.get(),
                                                       tables.registers.get(), tables.processor.get());
    tables.disassembler.reset(target->createMCDisassembler(*tables.processor, *tables.context));
    return tables;
}

std::string names(const Tables& tables, llvm::ArrayRef<llvm::MCPhysReg> registers) {
    std::string text;
    for (llvm::MCPhysReg reg : registers) text += std::string(text.empty() ? "" : " ") + tables.registers->getName(reg);
    return text;
}

/// Latency, then each processor resource with the cycles it is held.
std::string schedule(const Tables& tables, const llvm::MCInst& inst) {
    const llvm::MCSchedModel& model = tables.processor->getSchedModel();
    unsigned number = tables.instructions->get(inst.getOpcode()).getSchedClass();
    const llvm::MCSchedClassDesc* desc = model.getSchedClassDesc(number);
    while (desc->isVariant()) {
        number = tables.processor->resolveVariantSchedClass(number, &inst, tables.instructions.get(),
                                                            model.getProcessorID());
        if (!number) return "?;";
        desc = model.getSchedClassDesc(number);
    }
    if (!desc->isValid()) return "?;";
    std::string text = std::to_string(llvm::MCSchedModel::computeInstrLatency(*tables.processor, *desc)) + ";";
    for (auto* use = tables.processor->getWriteProcResBegin(desc); use != tables.processor->getWriteProcResEnd(desc);
         ++use)
        text += std::string(model.getProcResource(use->ProcResourceIdx)->Name) + "=" +
                std::to_string(use->ReleaseAtCycle) + " ";
    return text;
}

std::string facts(const Tables& tables, const std::vector<uint8_t>& bytes) {
    llvm::MCInst inst;
    uint64_t size = 0;
    if (tables.disassembler->getInstruction(inst, size, bytes, 0, llvm::nulls()) == llvm::MCDisassembler::Fail)
        return "?";
    const llvm::MCInstrDesc& desc = tables.instructions->get(inst.getOpcode());
    bool tied = false;
    for (unsigned i = desc.getNumDefs(); i < desc.getNumOperands(); ++i)
        tied |= desc.getOperandConstraint(i, llvm::MCOI::TIED_TO) >= 0;
    char flags[64];
    std::snprintf(flags, sizeof(flags), "%d;%llx", tied, static_cast<unsigned long long>(desc.TSFlags));
    return tables.instructions->getName(inst.getOpcode()).str() + ";" + names(tables, desc.implicit_uses()) + ";" +
           names(tables, desc.implicit_defs()) + ";" + flags + ";" + (desc.mayLoad() ? "L" : "") +
           (desc.mayStore() ? "S" : "") + ";" + schedule(tables, inst);
}

}  // namespace

int main(int, char** arguments) {
    const Tables tables = open_tables(arguments[1]);
    for (std::string line; std::getline(std::cin, line);) {
        std::vector<uint8_t> bytes;
        for (size_t i = 0; i + 1 < line.size(); i += 2)
            bytes.push_back(static_cast<uint8_t>(std::stoi(line.substr(i, 2), nullptr, 16)));
        std::cout << facts(tables, bytes) << '\n';
    }
}
