### Os e-mails em português. Cada um tem assunto, frase inicial, nota e, onde há um link, uma ação.
### O código ou o link fica sozinho numa linha entre a frase inicial e a nota: nunca se escreve aqui.

footer = Este e-mail foi enviado por { $host }. As respostas não são lidas.

## Por baixo da nota: quem pediu, de onde e quando.
fact-time = Hora
fact-by = Por
fact-application = Aplicação
fact-device = Dispositivo
fact-place = Lugar
fact-network = Rede
by-operator = um operador de { $host }
by-administrators = quem administra a organização
by-self-registered = uma que se inscreveu sozinha
device-on = { $browser } em { $system }
date-time = { $day } de { $month ->
    [1] janeiro
    [2] fevereiro
    [3] março
    [4] abril
    [5] maio
    [6] junho
    [7] julho
    [8] agosto
    [9] setembro
    [10] outubro
    [11] novembro
   *[12] dezembro
} de { $year }, { $time } UTC

## Dos e-mails que não foram enviados: de cada tipo é enviado um por hora.
others = { $others ->
    [one] Desde o último e-mail como este houve mais um igual. O histórico da conta diz qual.
   *[other] Desde o último e-mail como este houve mais { $others } iguais. O histórico da conta diz quais.
}

## Onde há uma página que o receba, em vez da nota: como dizer que não foi a própria pessoa. `.beside` fica antes.
report-lead = Se não foi consigo, diga-o com este link. Funciona durante sete dias, e pergunta antes de fazer alguma coisa:
report-action = Não fui eu

## Os e-mails.

sign-in-code =
    .subject = O seu código para entrar em { $host }
    .lead = Escreva este código para entrar em { $host }:
    .note = Funciona uma só vez, durante poucos minutos. Se não o pediu, ignore este e-mail e não dê o código a ninguém.

sign-in-link =
    .subject = O seu link para entrar em { $host }
    .lead = Abra este link para entrar em { $host }, no navegador onde o pediu:
    .action = Entrar
    .note = Funciona uma só vez, durante poucos minutos. Se não o pediu, ignore este e-mail.

verify-email-code =
    .subject = Confirme o seu endereço de e-mail em { $host }
    .lead = Escreva este código em { $host } para confirmar que este endereço é seu:
    .note = Funciona uma só vez, durante poucos minutos. Se não o pediu, ignore este e-mail e não dê o código a ninguém.

verify-email-link =
    .subject = Confirme o seu endereço de e-mail em { $host }
    .lead = Abra este link para confirmar em { $host } que este endereço é seu:
    .action = Confirmar o endereço
    .note = Funciona uma só vez, durante poucos minutos. Se não o pediu, ignore este e-mail.

sign-up-code =
    .subject = O seu código para uma conta nova em { $host }
    .lead = Escreva este código para criar a sua conta em { $host }:
    .note = Funciona uma só vez, durante poucos minutos. Se não o pediu, ignore este e-mail: nenhuma conta é criada.

sign-up-link =
    .subject = O seu link para uma conta nova em { $host }
    .lead = Abra este link para criar a sua conta em { $host }:
    .action = Criar a conta
    .note = Funciona uma só vez, durante poucos minutos. Se não o pediu, ignore este e-mail: nenhuma conta é criada.

sign-up-known =
    .subject = Já tem uma conta em { $host }
    .lead = Foi pedida uma conta nova em { $host } com este endereço, que já tem uma conta.
    .note = Entre com ela ou, se não conseguir, recupere-a. Se não pediu uma conta, ignore este e-mail: nada mudou.

invitation =
    .subject = O seu convite para { $organization } em { $host }
    .lead = { $role ->
        [administrator] Recebeu um convite para administrar { $organization } em { $host }. Abra este link para aceitar:
       *[member] Recebeu um convite para { $organization } em { $host }. Abra este link para aceitar:
    }
    .action = Aceitar o convite
    .note = Funciona uma só vez. Se não sabe de que se trata, ignore este e-mail: sem o seu consentimento nada acontece.

approval =
    .subject = Uma aplicação pede a sua aprovação em { $host }
    .lead = Abra este link para ver o que pede, e para aprovar ou recusar em { $host }:
    .action = Ver o pedido
    .note = O link por si só não decide nada: a decisão faz-se com a sessão iniciada. Se não espera este pedido, recuse-o.

recovery-code =
    .subject = O seu código de recuperação para { $host }
    .lead = Escreva este código para recuperar a sua conta em { $host }:
    .note = Funciona uma só vez, durante poucos minutos. Se não o pediu, ignore este e-mail e não dê o código a ninguém.

recovery-link =
    .subject = O seu link de recuperação para { $host }
    .lead = Abra este link para recuperar a sua conta em { $host }, no navegador onde o pediu:
    .action = Recuperar a conta
    .note = Funciona uma só vez, durante poucos minutos. Se não o pediu, ignore este e-mail.

recovery-started =
    .subject = Começou uma recuperação da sua conta em { $host }
    .lead = Começou uma recuperação da sua conta em { $host }. Se foi um pedido seu, não precisa de fazer nada aqui. Se não foi, pare-a com este link:
    .action = Parar a recuperação
    .note = Até a recuperação terminar, a sua conta fica como está.

recovery-issued =
    .subject = Foi criado um link para recuperar a sua conta em { $host }
    .lead = Um operador de { $host } criou um link com que a sua conta pode ser recuperada. Se foi um pedido seu, não precisa de fazer nada aqui. Se não foi, pare a recuperação com este link:
    .action = Parar a recuperação
    .note = Até o link ser usado, a sua conta fica como está. Pode ser usado uma só vez, durante um dia.

password-changed =
    .subject = A sua senha em { $host } foi alterada
    .lead = A senha da sua conta em { $host } foi alterada.
    .note = Se não foi uma alteração sua, recupere já a sua conta.

password-removed =
    .subject = A sua senha em { $host } foi retirada
    .lead = A senha da sua conta em { $host } foi retirada. Já não serve para entrar.
    .note = Se não foi uma alteração sua, recupere já a sua conta.

email-change-code =
    .subject = Confirme o seu novo endereço de e-mail em { $host }
    .lead = Escreva este código em { $host } para usar este endereço na sua conta:
    .note = Funciona uma só vez, durante poucos minutos. Se não o pediu, ignore este e-mail e não dê o código a ninguém.

email-change-known =
    .subject = Já tem uma conta em { $host }
    .lead = Outra conta em { $host } ia passar a usar este endereço, que já tem uma conta.
    .note = Nada mudou. Para usar o endereço na outra conta, entre primeiro com esta e mude o endereço dela ou apague-a.

email-change-requested =
    .subject = O seu endereço de e-mail em { $host } vai mudar
    .lead = Foi pedido outro endereço de e-mail para a sua conta em { $host }. Passa a ser usado logo que for confirmado.
    .note = Se não foi um pedido seu, recupere já a sua conta.

email-changed =
    .subject = O seu endereço de e-mail em { $host } foi alterado
    .lead = A sua conta em { $host } usa a partir de agora outro endereço de e-mail. Este já não serve para entrar.
    .note = Se não foi uma alteração sua, avise já quem gere { $host }.
    .beside = Se não foi uma alteração sua, avise já quem gere { $host }: só assim a conta pode voltar a este endereço.

phone-changed =
    .subject = O seu telefone em { $host } foi alterado
    .lead = A sua conta em { $host } tem a partir de agora outro número de telefone.
    .note = Se não foi uma alteração sua, recupere já a sua conta.

phone-removed =
    .subject = O seu telefone em { $host } foi retirado
    .lead = O número de telefone da sua conta em { $host } foi retirado.
    .note = Se não foi uma alteração sua, recupere já a sua conta.

deletion-requested =
    .subject = A sua conta em { $host } vai ser apagada
    .lead = A sua conta em { $host } vai ser apagada a { $until }, com tudo o que lá está guardado sobre si. Em todos os dispositivos a sessão terminou.
    .note = Para a manter, ou se não foi um pedido seu, entre antes desse dia: assim não é apagada.
    .beside = Para a manter, entre antes desse dia: assim não é apagada.

passkey-added =
    .subject = A sua conta em { $host } tem uma nova chave de acesso
    .lead = A chave de acesso “{ $name }” foi acrescentada à sua conta em { $host }.
    .note = Se não foi uma alteração sua, recupere já a sua conta e retire a chave de acesso.

passkey-removed =
    .subject = Uma chave de acesso foi retirada da sua conta em { $host }
    .lead = A chave de acesso “{ $name }” foi retirada da sua conta em { $host }. Já não serve para entrar.
    .note = Se não foi uma alteração sua, recupere já a sua conta.

identity-linked =
    .subject = A sua conta em { $host } tem uma nova ligação
    .lead = A sua conta em { $host } foi ligada a um acesso em “{ $connection }”. A partir de agora, esse acesso abre aquilo para que serve.
    .note = Se não foi uma alteração sua, recupere já a sua conta e desfaça a ligação.

identity-unlinked =
    .subject = Uma ligação foi retirada da sua conta em { $host }
    .lead = A ligação a “{ $connection }” foi retirada da sua conta em { $host }. Já não serve para entrar.
    .note = Se não foi uma alteração sua, recupere já a sua conta.

totp-enrolled =
    .subject = A sua conta em { $host } tem uma aplicação de autenticação
    .lead = Uma aplicação de autenticação foi acrescentada à sua conta em { $host }. A partir de agora, o código dela é pedido depois da senha.
    .note = Se não foi uma alteração sua, recupere já a sua conta.

totp-removed =
    .subject = A sua conta em { $host } já não tem aplicação de autenticação
    .lead = A aplicação de autenticação foi retirada da sua conta em { $host }. O código dela deixa de ser pedido.
    .note = Se não foi uma alteração sua, recupere já a sua conta.

recovery-codes-made =
    .subject = Tem novos códigos de recuperação para { $host }
    .lead = Foram criados novos códigos de recuperação para a sua conta em { $host }. Os anteriores já não funcionam.
    .note = Se não foi uma alteração sua, recupere já a sua conta.

recovery-code-used =
    .subject = Um código de recuperação foi usado em { $host }
    .lead = Um dos códigos de recuperação da sua conta em { $host } foi usado. Não volta a funcionar.
    .note = Se não foi um pedido seu, recupere já a sua conta.

account-recovered =
    .subject = A sua conta em { $host } foi recuperada
    .lead = A sua conta em { $host } foi recuperada. Em todos os outros dispositivos a sessão terminou.
    .note = Se não foi um pedido seu, avise já quem gere { $host }.
    .beside = Se não foi um pedido seu, avise já quem gere { $host }.

new-device =
    .subject = Um dispositivo novo entrou na sua conta em { $host }
    .lead = Alguém entrou na sua conta em { $host } a partir de um dispositivo que ainda não tinha sido usado.
    .note = Se foi consigo, não precisa de fazer nada. Se não foi, recupere já a sua conta.

impossible-travel =
    .subject = Uma entrada de muito longe na sua conta em { $host }
    .lead = Alguém entrou na sua conta em { $host } a partir de um lugar demasiado longe do anterior para o tempo que passou.
    .note = Se foi consigo, não precisa de fazer nada. Se não foi, recupere já a sua conta.

alert-digest =
    .subject = Mais entradas na sua conta em { $host }
    .lead = { $folded ->
        [one] Depois do último aviso houve mais uma entrada na sua conta em { $host } a partir de outro dispositivo ou lugar. O histórico da conta diz qual.
       *[other] Depois do último aviso houve mais { $folded } entradas na sua conta em { $host } a partir de outros dispositivos ou lugares. O histórico da conta diz quais.
    }
    .note = Se foi consigo, não precisa de fazer nada. Se não foi, recupere já a sua conta.

notice-digest =
    .subject = Mais alterações na sua conta em { $host }
    .lead = { $folded ->
        [one] Depois do último e-mail houve mais uma alteração na sua conta em { $host }. O histórico da conta diz qual.
       *[other] Depois dos últimos e-mails houve mais { $folded } alterações na sua conta em { $host }. O histórico da conta diz quais.
    }
    .note = Se foi consigo, não precisa de fazer nada. Se não foi, recupere já a sua conta.

role-granted =
    .subject = Tem uma nova função em { $host }
    .lead = A partir de agora tem a função “{ $role }” em { $organization }, em { $host }.
    .note = Se não sabe porquê, pergunte a quem administra { $organization }.
    .beside = Se não sabe porquê, pergunte a quem administra { $organization }.

api-key-made =
    .subject = Foi criada uma chave de API em seu nome em { $host }
    .lead = A chave de API “{ $name }” foi criada em seu nome para { $organization }, em { $host }. Funciona sem que tenha sessão iniciada.
    .note = Se não foi um pedido seu, peça que a chave seja revogada e recupere já a sua conta.
    .beside = Se disser que não foi consigo, esta chave de API também termina.

agent-allowed =
    .subject = Um agente pode agir por si em { $host }
    .lead = Autorizou o agente “{ $agent }” a agir por si em { $host }.
    .note = Se não foi uma decisão sua, desligue-o na sua conta e mude a senha.

test =
    .subject = Um e-mail de teste de { $host }
    .lead = Isto é um teste: { $host } consegue enviar e-mail para este endereço.
    .note = Foi pedido com `porteiro doctor`.
